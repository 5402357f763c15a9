import { type SqlClient, type Statement } from "@effect/sql"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Change } from "../Repo.ts"
import { channel } from "./Database.ts"

type Tag = Change["_tag"]

/** A payload may have less than 8,000 bytes; a hundred names of 63 fit. */
const namesInOne = 100

/**
 * The end of a `with` query, named `told`: tells one change for each of the names that `names` selects as `name`. It is
 * only run when the statement reads from it. The notification is sent with the commit, or not at all.
 */
export const tell = (sql: SqlClient.SqlClient, tag: Tag, names: Statement.Fragment): Statement.Fragment => sql`
  told as materialized (
    select pg_notify(${channel}, ${`${tag} `} || string_agg(name, ' '))
    from (
      select name, (row_number() over () - 1) / ${sql.literal(String(namesInOne))} as part
      from (select distinct name from (${names}) as named) as each
    ) as parts
    group by part
  )`

/** `RunAccepted deploy review`: a tag, and what it is about. */
export const parseChanges = (payload: string): ReadonlyArray<Change> => {
  const [tag, ...names] = payload.split(" ")
  switch (tag) {
    case "RunAccepted":
      return names.map((team) => ({ _tag: tag, team: team as TeamName }))
    case "RunStarted":
    case "RunEnded":
      return names.map((run_id) => ({ _tag: tag, run_id: run_id as RunId }))
    case "WebhookChanged":
      return names.map((webhook_id) => ({ _tag: tag, webhook_id: webhook_id as WebhookId }))
    case "LeaseReleased":
      return [{ _tag: tag }]
    default:
      return []
  }
}
