import { type DateTime, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { AuditFilterParameters, AuditPage } from "../api/access/Audit.ts"
import { auditExports } from "../api/ExportPaths.ts"
import { pageSize } from "../api/PageSize.ts"
import { AuditAction, type AuditEvent } from "../domain/access/AuditEvent.ts"
import type { Group } from "./Commands.ts"
import { adminOptions, call, show } from "./Connection.ts"
import { download, output } from "./Download.ts"
import { about } from "./Help.ts"
import { ago, table } from "./Output.ts"
import { Time, validated, wholeNumber } from "./Validated.ts"

const actions = AuditAction.literals.join(", ")

const filterOptions = {
  object: Flag.String("object").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("Only events about this webhook or session (its id) or team (its name)"),
    Flag.optional
  ),
  action: Flag.String("action").pipe(
    Flag.withDescription(`Only events of this kind: ${actions}`),
    Flag.mapTryCatch(
      ...validated(
        "--action",
        AuditAction.annotate({ message: () => ({ message: `must be one of ${actions}`, override: true }) })
      )
    ),
    Flag.optional
  ),
  from: Flag.String("from").pipe(
    Flag.withMetavar("time"),
    Flag.withDescription("Only events at or after this time, such as 2026-01-02 or 2026-01-02T03:04:05Z"),
    Flag.mapTryCatch(...validated("--from", Time)),
    Flag.optional
  ),
  to: Flag.String("to").pipe(
    Flag.withMetavar("time"),
    Flag.withDescription("Only events before this time"),
    Flag.mapTryCatch(...validated("--to", Time)),
    Flag.optional
  )
}

interface Filter {
  readonly object: Option.Option<string>
  readonly action: Option.Option<AuditAction>
  readonly from: Option.Option<DateTime.Utc>
  readonly to: Option.Option<DateTime.Utc>
}

/** The parameters of a request. */
const parametersOf = ({ action, from, object, to }: Filter) => ({
  object: Option.getOrUndefined(object),
  action: Option.getOrUndefined(action),
  from: Option.getOrUndefined(from),
  to: Option.getOrUndefined(to)
})

const limit = Flag.String("limit").pipe(
  Flag.withMetavar("count"),
  Flag.withDescription(`Events per page, ${pageSize.minimum} to ${pageSize.maximum}; default: ${pageSize.default}`),
  Flag.mapTryCatch(...validated("--limit", wholeNumber(pageSize.minimum, pageSize.maximum))),
  Flag.withDefault(pageSize.default)
)
const cursor = Flag.String("cursor").pipe(
  Flag.withDescription("The previous page's `next_cursor`"),
  Flag.optional
)

/** The changed fields, as in `name, enabled`, or the number of attempts. */
const details = ({ before, after, attempts }: AuditEvent): string =>
  attempts === undefined
    ? [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].join(", ")
    : `${attempts} attempts`

const list = Command.make("list", { ...filterOptions, limit, cursor, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const page = yield* call(options, (client) =>
      client.audit.list({
        urlParams: {
          ...parametersOf(options),
          limit: options.limit,
          cursor: Option.getOrUndefined(options.cursor)
        }
      })
    )
    yield* show(options, AuditPage, page, ({ data, next_cursor }) =>
      data.length === 0
        ? "No events."
        : table(
            ["TIME", "ACTION", "OBJECT", "ACTOR", "SESSION", "FROM", "FIELDS"],
            data.map((event) => [
              ago(event.at),
              event.action,
              event.object,
              [event.actor, event.key_name ?? event.person_name].filter(Boolean).join(" "),
              event.session_id,
              event.client_address,
              details(event)
            ])
          ) + (next_cursor === null ? "" : `\n\nOlder events: --cursor ${next_cursor}`)
    )
  })
).pipe(
  Command.withDescription(
    about("List who did what, newest first", {
      details: "Management actions, web UI sessions and wrong keys. With --json, also the values before and after.",
      examples: [
        "webhook-trigger audit list --action webhook.deleted",
        "webhook-trigger audit list --json | jq '.data[] | [.action, .before, .after]'"
      ]
    })
  )
)

const format = Flag.choiceWithValue("format", [
  ["csv", auditExports.csv],
  ["jsonl", auditExports.jsonl]
]).pipe(
  Flag.withMetavar("format"),
  Flag.withDescription("csv, or jsonl (one JSON object per line); default: jsonl"),
  Flag.withDefault(auditExports.jsonl)
)
const { json: _, ...connectionOptions } = adminOptions

const exportAll = Command.make("export", { ...filterOptions, format, output, ...connectionOptions }, (given) =>
  download(
    { ...given, json: false },
    given.format,
    Schema.encodeSync(AuditFilterParameters)(parametersOf(given)),
    given.output
  )
).pipe(
  Command.withDescription(
    about("Export all audit events that match the filters, oldest first", {
      examples: ["webhook-trigger audit export --from 2026-01-01 --output audit.jsonl"]
    })
  )
)

export const audit: Group = {
  name: "audit",
  about: "Audit events: who did what, and from where.",
  commands: [list, exportAll]
}
