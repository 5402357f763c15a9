import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { AuditPage } from "../../api/access/Audit.ts"
import { pageSize } from "../../api/PageSize.ts"
import type { AuditEvent } from "../../domain/access/AuditEvent.ts"
import type { Group } from "../Commands.ts"
import { adminOptions, call, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { table, time } from "../Output.ts"
import { validated, wholeNumber } from "../Validated.ts"
import { filterOptions, parametersOf } from "./AuditFilter.ts"
import { exportAll } from "./Export.ts"
import { verify } from "./Verify.ts"

const limit = Options.text("limit").pipe(
  Options.withPseudoName("count"),
  Options.withDescription(`Events per page, ${pageSize.minimum} to ${pageSize.maximum}; default: ${pageSize.default}`),
  Options.mapTryCatch(...validated("--limit", wholeNumber(pageSize.minimum, pageSize.maximum))),
  Options.withDefault(pageSize.default)
)
const cursor = Options.text("cursor").pipe(
  Options.withDescription("The previous page's `next_cursor`"),
  Options.optional
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
              time(event.at),
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

export const audit: Group = {
  name: "audit",
  about: "Audit events: who did what, and from where.",
  commands: [list, exportAll, verify]
}
