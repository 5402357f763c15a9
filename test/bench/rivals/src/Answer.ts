/** The response to a caller, for all servers. */
export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, string>>
}

export const notFound: Answer = { status: 404, body: { status: "error" } }

export const accepted = (run_id: string): Answer => ({ status: 202, body: { status: "accepted", run_id } })

export const answered = (run_id: string, response: string): Answer => ({
  status: 200,
  body: { status: "success", response, run_id }
})
