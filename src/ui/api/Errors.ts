/** The body of a response other than 2xx: a problem as in RFC 9457, or how a run ended that the caller waited for. */
export interface Problem {
  readonly title?: string
  readonly detail?: string
  readonly code?: string
  readonly errors?: ReadonlyArray<{ readonly pointer: string; readonly detail: string }>
  /** The run that the request has created, when there is one. */
  readonly run_id?: string
}

/** The server responded with a status other than 2xx. */
export class ApiError extends Error {
  constructor(response: Pick<Response, "status" | "statusText" | "headers">, problem: Problem) {
    super(problem.detail ?? problem.title ?? `The server responded with ${response.status}.`)
    this.status = response.status
    this.statusText = response.statusText
    this.retryAfter = response.headers.get("retry-after")
    this.problem = problem
  }
  readonly status: number
  /** Empty over HTTP/2. */
  readonly statusText: string
  readonly retryAfter: string | null
  readonly problem: Problem
}

/** The server was not reached. */
export class NetworkError extends Error {
  constructor() {
    super("The server cannot be reached.")
  }
}

/** An error in words for the user, and what to do about it. */
export const explain = (error: unknown): { readonly title: string; readonly advice?: string } => {
  if (error instanceof NetworkError) {
    return {
      title: "The server cannot be reached.",
      advice: "Check your connection and that the server is running. This page retries automatically."
    }
  }
  if (error instanceof ApiError) {
    const faults = error.problem.errors?.map(({ detail }) => detail).join("; ")
    const title = faults ? `${error.message} ${faults}` : error.message
    switch (error.status) {
      case 404:
        return { title: "Not found.", advice: "It may have been deleted." }
      case 409:
        return { title, advice: "Start a leader for the team, then try again." }
      case 429:
        return { title, advice: `Try again in ${error.retryAfter ?? "a few"} seconds.` }
      case 503:
        return { title, advice: "The database or the message broker is unavailable. Try again in a moment." }
      default:
        return { title }
    }
  }
  return { title: error instanceof Error ? error.message : String(error) }
}

/** The detail of the fault at a JSON Pointer, such as `/name`. */
export const faultAt = (error: unknown, pointer: string): string | undefined =>
  error instanceof ApiError ? error.problem.errors?.find((fault) => fault.pointer === pointer)?.detail : undefined
