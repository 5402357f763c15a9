import type { SqlClient, Statement } from "@effect/sql"
import type { Change } from "../ChangeFeed.ts"
import { channel } from "./Notifications.ts"

type Tag = Change["_tag"]
type FieldOf<C> = [Exclude<keyof C, "_tag">] extends [never] ? null : Exclude<keyof C, "_tag">

/** The field that a change's name is put into; `null`: it has none. */
const fields: { readonly [T in Tag]: FieldOf<Extract<Change, { readonly _tag: T }>> } = {
  RunAccepted: "team",
  RunAdmitted: "team",
  RunStarted: "run_id",
  RunEnded: "run_id",
  WebhookChanged: "webhook_id",
  SessionEnded: "session_id",
  KeyTried: "attempt",
  LeaseReleased: null
}

/** A payload may have less than 8,000 bytes; a hundred names of 63 fit. */
const namesInOne = 100

/**
 * The end of a `with` query, called `notified` or as `query` says: reports one change for each of the names that `names`
 * selects as `name`. It only runs when the statement reads from it. The notification is sent with the commit, or not at
 * all.
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

/** A change as it is notified. */
export const toPayload = (change: Change): string => {
  const field = fields[change._tag]
  return field === null ? change._tag : `${change._tag} ${(change as unknown as Record<string, string>)[field]}`
}

const isTag = (text: string): text is Tag => Object.hasOwn(fields, text)

/** `RunAccepted deploy review`: a tag, and the names of what changed. What a later version may send is left out. */
export const parseChanges = (payload: string): ReadonlyArray<Change> => {
  const [tag = "", ...names] = payload.split(" ")
  if (!isTag(tag)) return []
  const field = fields[tag]
  if (field === null) return [{ _tag: tag } as Change]
  return names.map((name) => ({ _tag: tag, [field]: name }) as unknown as Change)
}
