/** Sends triggers over a number of connections. Each sends the next one once it has the response. */
export interface LoadResult {
  /** Answered. */
  readonly requests: number
  readonly seconds: number
  /** Responses other than 2xx. */
  readonly refused: number
  /** Connections that failed or took too long. */
  readonly broken: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

export interface LoadOptions {
  /** Used in turn, all on one server. */
  readonly urls: ReadonlyArray<string>
  readonly connections: number
  readonly seconds: number
}

export type Load = (options: LoadOptions) => Promise<LoadResult>

export const body = JSON.stringify({ variables: { text: "x".repeat(500), nested: { ref: "main", count: 3 } } })
