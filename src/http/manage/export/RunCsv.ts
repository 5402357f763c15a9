/** Runs as CSV, with all their fields. */

import { DateTime } from "effect"
import * as Json from "../../../domain/Json.ts"
import type { Run } from "../../../domain/run/Run.ts"
import { csvLine } from "./Csv.ts"
import type { Format } from "./RunExport.ts"

const time = (at: DateTime.Utc | undefined): string | undefined => at && DateTime.formatIso(at)

type Column = readonly [name: string, valueOf: (run: Run, name: string | undefined) => string | number | undefined]

const own = (field: keyof { [F in keyof Run as NonNullable<Run[F]> extends string | number ? F : never]: F }) =>
  [[field, (run) => run[field]]] satisfies ReadonlyArray<Column>

const timeOf = (field: keyof { [F in keyof Run as NonNullable<Run[F]> extends DateTime.Utc ? F : never]: F }) =>
  [[field, (run) => time(run[field])]] satisfies ReadonlyArray<Column>

const json = (value: object | undefined): string | undefined => value && Json.stringify(value)

/** The columns of each field, in this order. A field without columns does not compile. */
const columnsOf: { readonly [Field in keyof Run]-?: ReadonlyArray<Column> } = {
  run_id: own("run_id"),
  status: own("status"),
  source: own("source"),
  webhook_id: [...own("webhook_id"), ["webhook", (_, name) => name]],
  webhook_version: own("webhook_version"),
  team: own("team"),
  mode: own("mode"),
  title: own("title"),
  agent: [["agent", (run) => json(run.agent)]],
  thread: [["thread", (run) => run.thread?.key]],
  replay_of: own("replay_of"),
  retry_of: own("retry_of"),
  chained_from: own("chained_from"),
  chain_depth: own("chain_depth"),
  attempt: own("attempt"),
  max_attempts: own("max_attempts"),
  retry_at: timeOf("retry_at"),
  retried_by: own("retried_by"),
  accepted_at: timeOf("accepted_at"),
  held_for: own("held_for"),
  held_until: timeOf("held_until"),
  joined: own("joined"),
  sent_at: timeOf("sent_at"),
  started_at: timeOf("started_at"),
  finished_at: timeOf("finished_at"),
  stop_at: timeOf("stop_at"),
  released_at: timeOf("released_at"),
  unconfirmed: [["unconfirmed", (run) => (run.unconfirmed ? "true" : undefined)]],
  rests: own("rests"),
  triggered_by: own("triggered_by"),
  asked_by: own("asked_by"),
  callback_url: own("callback_url"),
  cancelled_by: own("cancelled_by"),
  decided_by: own("decided_by"),
  superseded_by: own("superseded_by"),
  delivery_failed: [["delivery_failed", (run) => (run.delivery_failed ? "true" : undefined)]],
  duration_ms: own("duration_ms"),
  // It is in the response.
  answer: [],
  error: [
    ["error_code", (run) => run.error?.code],
    ["error_message", (run) => run.error?.message]
  ],
  last_step: own("last_step"),
  timeout_seconds: own("timeout_seconds"),
  usage: [
    ["input_tokens", (run) => run.usage?.input_tokens],
    ["cached_input_tokens", (run) => run.usage?.cached_input_tokens],
    ["output_tokens", (run) => run.usage?.output_tokens],
    ["cost_usd", (run) => run.usage?.cost_usd],
    ["model", (run) => run.usage?.model]
  ],
  session_id: own("session_id"),
  session_lost: [["session_lost", (run) => (run.session_lost ? "true" : undefined)]],
  history_given: [["history_given", (run) => (run.history_given ? "true" : undefined)]],
  // For the next prompt, not for people.
  session_usage: [],
  links: [["links", (run) => json(run.links)]],
  denied: [["denied", (run) => json(run.denied)]],
  workspace: [["workspace", (run) => json(run.workspace)]],
  asks: [["asks", (run) => json(run.asks)]],
  files: [["files", (run) => json(run.files)]],
  variables: [["variables", (run) => json(run.variables)]],
  conversation: [
    ["prompt", (run) => run.conversation.prompt],
    ["response", (run) => run.conversation.response]
  ]
}

const columns = Object.values(columnsOf).flat()

export const csv: Format = {
  contentType: "text/csv; charset=utf-8",
  file: "runs.csv",
  head: csvLine(columns.map(([name]) => name)),
  line: (run, nameOf) => csvLine(columns.map(([, valueOf]) => valueOf(run, nameOf(run))))
}
