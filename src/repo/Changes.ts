import { Array as Arr, Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Unavailable } from "../domain/Errors.ts"
import type { Change } from "./ChangeFeed.ts"
import { bounded } from "./database/Database.ts"
import { channel, Notifications } from "./database/Notifications.ts"

type Tag = Change["_tag"]
type FieldOf<C> = [Exclude<keyof C, "_tag">] extends [never] ? null : Exclude<keyof C, "_tag">

/** The field for the change's name; `null`: it has none. */
const fields: { readonly [T in Tag]: FieldOf<Extract<Change, { readonly _tag: T }>> } = {
  RunAccepted: "team",
  RunChanged: "run_id",
  RunStarted: "run_id",
  RunEnded: "run_id",
  WebhookChanged: "webhook_id",
  RequestsStored: "webhook_id",
  LeaderKeyRevoked: "leader_key_id",
  LeaderChanged: "team",
  RunOffered: "team",
  KeyTried: "attempt",
  DeliveryDue: null
}

/** A payload may have up to 8,000 bytes, so a hundred names of 63 fit. */
const namesInOne = 100

/**
 * The end of a `with` query, called `notified` or as `query` says: notifies one change for each name that `names`
 * selects as `name`. It only runs when the statement reads from it. The notification is part of the commit.
 */
export const notify = (
  sql: SqlClient.SqlClient,
  tag: Tag,
  names: Statement.Fragment,
  query = "notified"
): Statement.Fragment => sql`
  ${sql.literal(query)} as materialized (
    select pg_notify(${channel}, ${`${tag} `} || string_agg(name, ' '))
    from (
      select name, (row_number() over () - 1) / ${sql.literal(String(namesInOne))} as part
      from (select distinct name from (${names}) as named) as each
    ) as parts
    group by part
  )`

/** Changes as notified, grouped by tag, in no particular order. */
const toPayloads = (changes: ReadonlyArray<Change>): ReadonlyArray<string> => {
  const namesOf = new Map<Tag, Set<string>>()
  for (const change of changes) {
    const field = fields[change._tag]
    const names = namesOf.get(change._tag) ?? new Set()
    namesOf.set(change._tag, field === null ? names : names.add((change as unknown as Record<string, string>)[field]!))
  }
  return Array.from(namesOf).flatMap(([tag, names]) =>
    names.size === 0 ? tag : Arr.chunksOf(names, namesInOne).map((some) => `${tag} ${some.join(" ")}`)
  )
}

/**
 * Notifies every process of changes in committed rows, or in none. `deliver` does so if there is no other process, and returns
 * the payloads that are left. `send` uses a statement, which does not wait for the disk.
 */
export const makePublish = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { deliver = () => false } = yield* Notifications
  return {
    deliver: (changes: ReadonlyArray<Change>): ReadonlyArray<string> =>
      toPayloads(changes).filter((payload) => !deliver(payload)),
    send: (payloads: ReadonlyArray<string>): Effect.Effect<void, Unavailable> =>
      payloads.length === 0
        ? Effect.void
        : Effect.asVoid(
            bounded(sql`
              with relaxed as materialized (select set_config('synchronous_commit', 'off', true))
              select pg_notify(${channel}, payload)
              from relaxed, json_array_elements_text(${JSON.stringify(payloads)}::json) as payloads (payload)`)
          )
  }
})

const isTag = (text: string): text is Tag => Object.hasOwn(fields, text)

/** `RunAccepted deploy review`: a tag, and the names of what changed. Ignores what a later version may send. */
export const parseChanges = (payload: string): ReadonlyArray<Change> => {
  const [tag = "", ...names] = payload.split(" ")
  if (!isTag(tag)) return []
  const field = fields[tag]
  if (field === null) return [{ _tag: tag } as Change]
  return names.map((name) => ({ _tag: tag, [field]: name }) as unknown as Change)
}
