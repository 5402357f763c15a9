import { DateTime, Schema } from "effect"
import { RunId, type WebhookId } from "../domain/Id.ts"
import { durationOf, type RunMode, type RunRow, type RunSource, type RunStatus } from "../domain/run/Run.ts"
import type { RunSummary } from "../domain/run/RunSummary.ts"
import type { TeamName } from "../domain/Team.ts"

/** Which runs: all that fulfil every condition given. */
export interface RunFilter {
  readonly webhook_id?: WebhookId
  /** One of these. */
  readonly statuses?: ReadonlyArray<RunStatus>
  readonly team?: TeamName
  readonly source?: RunSource
  readonly mode?: RunMode
  /** Accepted at or after. */
  readonly from?: DateTime.Utc
  /** Accepted before. */
  readonly to?: DateTime.Utc
  /** Started and ended, and took at least as long. */
  readonly min_duration_ms?: number
  /** Started and ended, and took no longer. */
  readonly max_duration_ms?: number
  /**
   * What the variables (as JSON), the prompt, the answer or the error's message contains within its first `searchedLength`
   * characters, whatever the case of A to Z. The id of a run that fulfils the other conditions finds that one alone.
   */
  readonly search?: string
}

/** A page of history, newest first. */
export interface RunQuery extends RunFilter {
  readonly limit: number
  /** Opaque; from the page before, of the same filter. */
  readonly cursor?: string
}

export interface RunPage {
  readonly data: ReadonlyArray<RunSummary>
  /** `null` on the last page. */
  readonly next_cursor: string | null
  /** Looking took long: the page has what was accepted since then, and the next one may have more. */
  readonly searched_back_to?: DateTime.Utc
}

/** Of each text, a search looks at as many characters: an answer may have megabytes. */
export const searchedLength = 20_000

const isRunId = Schema.is(RunId)

/** The run that the search names by its id. */
export const searchedId = ({ search = "" }: Pick<RunFilter, "search">): RunId | undefined => {
  const text = search.trim().toLowerCase()
  return isRunId(text) ? text : undefined
}

/** Small letters for A to Z, and nothing else: the same on every database, whatever its locale. */
export const foldCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** As a string of JSON has it, without its quotes: so variables are searched. */
export const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

const contains = (text: string | undefined, part: string): boolean =>
  text !== undefined && foldCase([...text].slice(0, searchedLength).join("")).includes(foldCase(part))

const fulfilsSearch = ({ variables, prompt, response, error_message }: RunRow, search: string): boolean =>
  contains(JSON.stringify(variables), inJson(search)) ||
  [prompt, response, error_message].some((text) => contains(text, search))

/** Whether a run fulfils the filter; whether its texts contain what is searched only when `searching`. */
export const fulfils = (row: RunRow, filter: RunFilter, searching: boolean): boolean => {
  const { statuses, from, to, min_duration_ms, max_duration_ms, search } = filter
  const { duration_ms } = durationOf(row)
  return (
    (filter.webhook_id === undefined || row.webhook_id === filter.webhook_id) &&
    (statuses === undefined || statuses.includes(row.status)) &&
    (filter.team === undefined || row.team === filter.team) &&
    (filter.source === undefined || row.source === filter.source) &&
    (filter.mode === undefined || row.mode === filter.mode) &&
    (from === undefined || DateTime.greaterThanOrEqualTo(row.accepted_at, from)) &&
    (to === undefined || DateTime.lessThan(row.accepted_at, to)) &&
    (min_duration_ms === undefined || (duration_ms !== undefined && duration_ms >= min_duration_ms)) &&
    (max_duration_ms === undefined || (duration_ms !== undefined && duration_ms <= max_duration_ms)) &&
    (search === undefined || !searching || fulfilsSearch(row, search))
  )
}
