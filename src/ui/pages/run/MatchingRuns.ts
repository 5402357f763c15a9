import { mostReplayed } from "../../../api/run/MostReplayed.ts"
import type { AllRunsFilter } from "../../api/Changes.ts"
import { api } from "../../api/Client.ts"
import { runAction } from "../../api/Queries.ts"
import type { RunSummary } from "../../api/Types.ts"

export interface MatchingRuns {
  /** Newest first. */
  readonly runs: ReadonlyArray<RunSummary>
  /** There are more than can be selected at once. */
  readonly more: boolean
}

/** The newest runs with this filter, as many as one request can replay. */
export const matchingRuns = async ({ cursor: _, ...filter }: AllRunsFilter): Promise<MatchingRuns> => {
  const runs: Array<RunSummary> = []
  let cursor: string | null | undefined
  do {
    const query = { ...filter, limit: 100, ...(cursor && { cursor }) }
    const page = await runAction(() => api.runs.list({ query }))
    runs.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null && runs.length < mostReplayed)
  return { runs: runs.slice(0, mostReplayed), more: cursor !== null || runs.length > mostReplayed }
}
