import { DateTime, Schema } from "effect"
import { RunId, type ThreadId, type WebhookId } from "../../domain/Id.ts"
import * as Json from "../../domain/Json.ts"
import { durationOf, type RunMode, type RunRow, type RunStatus } from "../../domain/run/Run.ts"
import type { RunSource } from "../../domain/run/RunSource.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import type { TeamName } from "../../domain/Team.ts"

/** A filter of runs. All given conditions must hold. */
export interface RunFilter {
  readonly webhook_id?: WebhookId
  readonly thread_id?: ThreadId
  /** One of these. */
  readonly statuses?: ReadonlyArray<RunStatus>
  readonly team?: TeamName
  /** Belongs to these teams alone (`OwnerStore`). */
  readonly owners?: ReadonlyArray<TeamName>
  readonly source?: RunSource
  readonly mode?: RunMode
  readonly triggered_by?: string
  /** Accepted then or later. */
  readonly from?: DateTime.Utc
  /** Accepted earlier. */
  readonly to?: DateTime.Utc
  /** Started and ended, and took at least this long. */
  readonly min_duration_ms?: number
  /** Started and ended, and took at most this long. */
  readonly max_duration_ms?: number
  /**
   * Text within the first `searchedLength` characters of variables (as JSON), prompt, answer or error message. Only the
   * case of A to Z is ignored. The ID of a run that fulfils the other conditions finds that run alone.
   */
  readonly search?: string
}

/** A page of history, newest first. */
export interface RunQuery extends RunFilter {
  readonly limit: number
  /** Opaque; from the previous page with the same filter. */
  readonly cursor?: string
}

export interface RunPage {
  readonly data: ReadonlyArray<RunSummary>
  /** `null` on the last page. */
  readonly next_cursor: string | null
  /** The search stopped early: the page covers runs accepted since then, and the next one may have more. */
  readonly searched_back_to?: DateTime.Utc
}

/** How many characters of each text are searched: an answer may have megabytes. */
export const searchedLength = 20_000

const isRunId = Schema.is(RunId)

/** The run whose ID is searched. */
export const searchedId = ({ search = "" }: Pick<RunFilter, "search">): RunId | undefined => {
  const text = search.trim().toLowerCase()
  return isRunId(text) ? text : undefined
}

/** Lower case for A to Z only: the same on every database, whatever its locale. */
export const foldCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** As in a JSON string, without the quotes: variables are searched as JSON. */
export const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

const contains = (text: string | undefined, part: string): boolean =>
  text !== undefined && foldCase([...text].slice(0, searchedLength).join("")).includes(foldCase(part))

const fulfilsSearch = ({ variables, prompt, response, error_message }: RunRow, search: string): boolean =>
  contains(Json.stringify(variables), inJson(search)) ||
  [prompt, response, error_message].some((text) => contains(text, search))

/** Whether a run fulfils the filter. Its texts are only searched with `searching`. */
export const fulfils = (row: RunRow, filter: RunFilter, searching: boolean): boolean => {
  const { statuses, from, to, min_duration_ms, max_duration_ms, search } = filter
  const { duration_ms } = durationOf(row)
  return (
    (filter.webhook_id === undefined || row.webhook_id === filter.webhook_id) &&
    (filter.thread_id === undefined || row.thread_id === filter.thread_id) &&
    (statuses === undefined || statuses.includes(row.status)) &&
    (filter.team === undefined || row.team === filter.team) &&
    (filter.source === undefined || row.source === filter.source) &&
    (filter.mode === undefined || row.mode === filter.mode) &&
    (filter.triggered_by === undefined || row.triggered_by === filter.triggered_by) &&
    (from === undefined || DateTime.greaterThanOrEqualTo(row.accepted_at, from)) &&
    (to === undefined || DateTime.lessThan(row.accepted_at, to)) &&
    (min_duration_ms === undefined || (duration_ms !== undefined && duration_ms >= min_duration_ms)) &&
    (max_duration_ms === undefined || (duration_ms !== undefined && duration_ms <= max_duration_ms)) &&
    (search === undefined || !searching || fulfilsSearch(row, search))
  )
}
