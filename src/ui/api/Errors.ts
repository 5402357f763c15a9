import type { Fault } from "../../domain/Errors.ts"

/** The body of an error response: a problem as in RFC 9457, or the outcome of a synchronous run. */
export interface Problem {
  readonly title?: string
  readonly detail?: string
  readonly code?: string
  readonly errors?: ReadonlyArray<Fault>
  /** The run that the request created, if any. */
  readonly run_id?: string
}

/** As in `variables.title: has no value`. */
const describeFault = ({ pointer, detail }: Fault): string => {
  const field = pointer.replace(/^\//, "").replaceAll("/", ".")
  return field === "" ? detail : `${field}: ${detail}`
}

/** A problem in words: the title and the errors or, if there are none, the detail. */
const describe = ({ title, detail, errors = [] }: Problem): string =>
  [title && `${title}.`, errors.length > 0 ? `${errors.map(describeFault).join("; ")}.` : detail]
    .filter(Boolean)
    .join(" ")

/** The server responded with a status other than 2xx. */
export class ApiError extends Error {
  constructor(response: Pick<Response, "status" | "statusText" | "headers">, problem: Problem) {
    super(describe(problem) || `The server responded with ${response.status}.`)
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

/** The server could not be reached. */
export class NetworkError extends Error {
  constructor() {
    super("The server cannot be reached.")
  }
}

/** An error in words, with advice. */
export const explain = (error: unknown): { readonly title: string; readonly advice?: string } => {
  if (error instanceof NetworkError) {
    return {
      title: "The server cannot be reached.",
      advice: "Check your connection and that the server is running."
    }
  }
  if (error instanceof ApiError) {
    const title = error.message
    switch (error.status) {
      case 404:
        return { title: "Not found.", advice: "It may have been deleted." }
      case 429:
        return { title, advice: `Try again in ${error.retryAfter ?? "a few"} seconds.` }
      case 503:
        return { title, advice: "Try again in a moment." }
      default:
        return { title }
    }
  }
  return { title: error instanceof Error ? error.message : String(error) }
}

/** The error message at a JSON Pointer, such as `/name`. */
export const faultAt = (error: unknown, pointer: string): string | undefined =>
  error instanceof ApiError ? error.problem.errors?.find((fault) => fault.pointer === pointer)?.detail : undefined
