/** What the server says of a refusal, RFC 9457. */
export interface Problem {
  readonly title?: string
  readonly detail?: string
  readonly code?: string
  readonly errors?: ReadonlyArray<{ readonly pointer: string; readonly detail: string }>
}

/** The server refused. */
export class ApiError extends Error {
  constructor(status: number, problem: Problem, retryAfter: string | null) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`)
    this.status = status
    this.problem = problem
    this.retryAfter = retryAfter
  }
  readonly status: number
  readonly problem: Problem
  readonly retryAfter: string | null
}

/** The server was not reached. */
export class NetworkError extends Error {
  constructor() {
    super("The server cannot be reached.")
  }
}

/** What to tell somebody about a failure, and what to do about it. */
export const explain = (error: unknown): { readonly title: string; readonly advice?: string } => {
  if (error instanceof NetworkError) {
    return {
      title: "The server cannot be reached.",
      advice: "Check the network and that the server runs. This page tries again by itself."
    }
  }
  if (error instanceof ApiError) {
    const faults = error.problem.errors?.map(({ detail }) => detail).join("; ")
    const title = faults ? `${error.message} ${faults}` : error.message
    switch (error.status) {
      case 404:
        return { title: "There is nothing at this address.", advice: "It may have been deleted." }
      case 409:
        return { title, advice: "Start a leader for the team, then try again." }
      case 429:
        return { title, advice: `Try again in ${error.retryAfter ?? "a few"} seconds.` }
      case 503:
        return { title, advice: "Database or message broker are out of reach. Try again in a moment." }
      default:
        return { title }
    }
  }
  return { title: error instanceof Error ? error.message : String(error) }
}

/** The detail of the fault at a JSON Pointer, such as `/name`. */
export const faultAt = (error: unknown, pointer: string): string | undefined =>
  error instanceof ApiError ? error.problem.errors?.find((fault) => fault.pointer === pointer)?.detail : undefined
