import { type DateTime, Schema } from "effect"
import { RunId, type ThreadId, type WebhookId } from "../../domain/Id.ts"
import type { RunMode, RunStatus } from "../../domain/run/Run.ts"
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
  /**
   * It waits for its approval; or the answer is a question, nobody has replied to it, and somebody can: its thread is open, if
   * it has one.
   */
  readonly asks?: true
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
