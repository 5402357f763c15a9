import { SqlClient } from "@effect/sql"
import { DateTime, Duration, Effect, Layer } from "effect"
import type { TeamName } from "../../../domain/Team.ts"
import { whenTraced } from "../../../telemetry/Span.ts"
import {
  type AskingLeader,
  absentAfter,
  type HttpLeader,
  HttpLeaderStore,
  type OfferedPrompt,
  type PromptState,
  renewedAfter,
  replacedAfter,
  replacedAfterClose,
  type TakenPrompt
} from "../../run/HttpLeaderStore.ts"
import { notify } from "../Changes.ts"
import { type ColumnTypes, fromRow, recordset } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

const leaderTypes: ColumnTypes = { team: "text", leader: "uuid", key_id: "uuid", n: "integer", asked_at: "timestamptz" }
const workTypes: ColumnTypes = { team: "text", leader: "uuid", run_id: "uuid" }
const offerTypes: ColumnTypes = { team: "text", run_id: "uuid", prompt: "text", redelivered: "boolean" }

export const layer: Layer.Layer<HttpLeaderStore, never, SqlClient.SqlClient> = Layer.effect(
  HttpLeaderStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const timeOf = (time: DateTime.Utc) => sql`${DateTime.toDateUtc(time)}::timestamptz`
    const before = (now: DateTime.Utc, time: Duration.Duration) => timeOf(DateTime.subtractDuration(now, time))
    /** What a crash of the database loses of these rows does no harm, so commits do not wait for the disk. */
    const relaxed = sql`relaxed as materialized (select set_config('synchronous_commit', 'off', true))`
    const isLocked = sql.literal("order by h.team for no key update of h")
    const changed = (what: "Leader" | "Prompt", query: string) =>
      notify(sql, `${what}Changed`, sql`select team as name from ${sql.literal(query)}`)
    const columns = (table: string) =>
      sql.literal(
        ["team", "leader", "run_id", "prompt", "redelivered", "cancelled"].map((it) => `${table}.${it}`).join()
      )

    const askToLead = Effect.fnUntraced(
      function* (leaders: ReadonlyArray<AskingLeader>, now: DateTime.Utc, { mayReplace }: { mayReplace: boolean }) {
        if (leaders.length === 0) return []
        // `h`: the row of a team, before.
        const isPresent = (asking: "a" | "i") =>
          sql.literal(`(h.left_by is distinct from ${asking}.leader or ${asking}.asked_at >= h.left_at)`)
        const isDue = sql`${isPresent("a")} and (
          h.leader = a.leader and (not h.done or h.seen_at <= ${before(now, renewedAfter)})
          or h.leader is null
          or not exists (select from webhook_trigger.leader_keys k where k.id = h.key_id)
          or h.leader <> a.leader and ${mayReplace}::boolean and h.seen_at <= ${before(now, replacedAfter)}
        )`
        const rows = yield* sql`
          with ${relaxed}, asking as materialized (
            select distinct on (i.team) i.team, i.leader, i.key_id, i.asked_at
            from ${recordset(
              sql,
              leaderTypes,
              leaders.map((it, n) => ({ ...it, n }))
            )}
            join webhook_trigger.leader_keys k on k.id = i.key_id and k.team = i.team
            left join webhook_trigger.http_leaders h on h.team = i.team
            where ${isPresent("i")}
            order by i.team, coalesce(h.leader = i.leader, false) desc, i.n
          ), new as materialized (
            select t.team from webhook_trigger.teams t join asking a on a.team = t.team
            where not exists (select from webhook_trigger.http_leaders h where h.team = t.team)
            order by t.team for key share of t
          ), added as (
            insert into webhook_trigger.http_leaders (team, leader, key_id, seen_at)
            select a.team, a.leader, a.key_id, ${timeOf(now)} from relaxed, asking a join new using (team)
            on conflict do nothing returning team
          ), known as materialized (
            select h.*, a.leader as asking, a.key_id as asking_key
            from webhook_trigger.http_leaders h join asking a on a.team = h.team
            where ${isDue} ${isLocked}
          ), led as (
            update webhook_trigger.http_leaders h set
              leader = k.asking,
              key_id = k.asking_key,
              seen_at = greatest(k.seen_at, ${timeOf(now)}),
              taken = not k.done,
              redelivered = k.redelivered or k.taken and k.leader <> k.asking
            from known k, relaxed where h.team = k.team
            returning h.*
          ), replaced as (
            select team from added union all select team from known where leader is distinct from asking
          ), ${changed("Leader", "replaced")}
          select ${columns("l")} from (select count(*) from notified) as n left join led l on not l.done`
        return rows.flatMap((row) => (row.team === null ? [] : fromRow<TakenPrompt>(row)))
      },
      bounded,
      whenTraced("HttpLeaderStore.askToLead")
    )

    const keepPrompts: HttpLeaderStore["Type"]["keepPrompts"] = Effect.fnUntraced(
      function* (prompts, now) {
        if (prompts.length === 0) return []
        const rows = yield* sql`
          with ${relaxed}, kept as materialized (
            select h.team from webhook_trigger.http_leaders h
            join ${recordset(sql, workTypes, prompts)} on i.team = h.team and i.leader = h.leader and i.run_id = h.run_id
            where not h.done ${isLocked}
          )
          update webhook_trigger.http_leaders h set seen_at = greatest(h.seen_at, ${timeOf(now)}), taken = true
          from kept, relaxed where h.team = kept.team
          returning h.team, h.leader, h.run_id, h.cancelled`
        return rows.map((row) => fromRow<TakenPrompt>(row))
      },
      bounded,
      whenTraced("HttpLeaderStore.keepPrompts")
    )

    const connectionsClosed = Effect.fnUntraced(
      function* (leaders: ReadonlyArray<HttpLeader>, now: DateTime.Utc) {
        if (leaders.length === 0) return
        const seen = before(now, Duration.subtract(replacedAfter, replacedAfterClose))
        yield* sql`
          with ${relaxed}, closed as materialized (
            select h.team from webhook_trigger.http_leaders h
            join ${recordset(sql, leaderTypes, leaders)} on i.team = h.team and i.leader = h.leader
            ${isLocked}
          )
          update webhook_trigger.http_leaders h set seen_at = least(h.seen_at, ${seen})
          from closed, relaxed where h.team = closed.team`
      },
      bounded,
      whenTraced("HttpLeaderStore.connectionsClosed")
    )

    const leaveTeam = Effect.fnUntraced(
      function* ({ leader, team }: HttpLeader, now: DateTime.Utc) {
        yield* sql`
          with ${relaxed}, left_teams as (
            update webhook_trigger.http_leaders h set
              leader = null, key_id = null, left_by = h.leader, left_at = ${timeOf(now)},
              redelivered = h.redelivered or h.taken, taken = false
            from relaxed where h.team = ${team} and h.leader = ${leader}
            returning h.team
          ), ${changed("Leader", "left_teams")}
          select count(*) from notified`
      },
      bounded,
      whenTraced("HttpLeaderStore.leaveTeam")
    )

    const offerPrompts = Effect.fnUntraced(
      function* (prompts: ReadonlyArray<OfferedPrompt>) {
        if (prompts.length === 0) return
        yield* sql`
          with ${relaxed}, input as materialized (
            select * from ${recordset(sql, offerTypes, prompts)}
          ), replaced as materialized (
            select h.team from webhook_trigger.http_leaders h join input i on i.team = h.team
            where h.run_id is distinct from i.run_id ${isLocked}
          ), offered as (
            update webhook_trigger.http_leaders h set
              run_id = i.run_id, prompt = i.prompt, redelivered = i.redelivered, taken = false, cancelled = false,
              done = false
            from replaced r join input i using (team), relaxed where h.team = r.team
            returning h.team
          ), ${changed("Prompt", "offered")}
          select count(*) from notified`
      },
      bounded,
      whenTraced("HttpLeaderStore.offerPrompts")
    )

    const cancelPrompt = Effect.fnUntraced(
      function* ({ run_id, team }: Pick<OfferedPrompt, "team" | "run_id">) {
        yield* sql`
          with ${relaxed}, cancelled as (
            update webhook_trigger.http_leaders h set cancelled = true
            from relaxed where h.team = ${team} and h.run_id = ${run_id} and not h.done
            returning h.team
          ), ${changed("Prompt", "cancelled")}
          select count(*) from notified`
      },
      bounded,
      whenTraced("HttpLeaderStore.cancelPrompt")
    )

    const finishPrompt = Effect.fnUntraced(
      function* ({ run_id, team }: Pick<OfferedPrompt, "team" | "run_id">) {
        yield* sql`
          with ${relaxed}, finished as (
            update webhook_trigger.http_leaders h set done = true, taken = false, prompt = null
            from relaxed where h.team = ${team} and h.run_id = ${run_id} and not h.done
            returning h.team
          ), ${changed("Prompt", "finished")}
          select count(*) from notified`
      },
      bounded,
      whenTraced("HttpLeaderStore.finishPrompt")
    )

    const promptStates = Effect.fnUntraced(
      function* (teams: ReadonlyArray<TeamName>) {
        if (teams.length === 0) return []
        const rows = yield* sql`
          select h.team, h.run_id, h.leader, h.done, h.cancelled from webhook_trigger.http_leaders h
          where h.team = any((select ${`{${teams.join(",")}}`}::text[])::text[]) and h.run_id is not null`
        return rows.map((row) => fromRow<PromptState>(row))
      },
      bounded,
      whenTraced("HttpLeaderStore.promptStates")
    )

    const ledTeams = Effect.fnUntraced(
      function* (now: DateTime.Utc) {
        const rows = yield* sql<{ readonly team: TeamName }>`
          select h.team from webhook_trigger.http_leaders h join webhook_trigger.leader_keys k on k.id = h.key_id
          where h.leader is not null and h.seen_at > ${before(now, absentAfter)}`
        return rows.map(({ team }) => team)
      },
      bounded,
      whenTraced("HttpLeaderStore.ledTeams")
    )

    return HttpLeaderStore.of({
      askToLead,
      keepPrompts,
      connectionsClosed,
      leaveTeam,
      offerPrompts,
      cancelPrompt,
      finishPrompt,
      promptStates,
      ledTeams
    })
  })
)
