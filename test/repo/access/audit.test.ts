/** Audit events of several servers, whose transactions are open at the same time. */

import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditDraft, AuditEvent } from "../../../src/domain/access/AuditEvent.ts"
import { auditEventIdAt } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { describe, expect, it } from "../../support/It.ts"
import { at, count, epoch, together } from "../contract/fixtures.ts"
import { layerOf, type Replica, replicaOf, replicaWith } from "../Replica.ts"

const creationAt = (ms: number): AuditDraft => ({
  ...{ id: auditEventIdAt(epoch + ms), at: at(ms), action: "team.created", actor: "admin_key" }
})

const create = (repo: Replica, team: string, ms: number) => repo.createTeam(TeamName.make(team), at(ms), creationAt(ms))

const teamsOf = (events: ReadonlyArray<AuditEvent>) => events.map(({ object }) => object)
const listed = (repo: Replica) => Effect.map(repo.auditEvents({ limit: 9 }), ({ data }) => teamsOf(data))

/** For a transaction that stays open while others work: its server would end it after five seconds. */
const mayIdle = (sql: SqlClient.SqlClient) => sql`set local idle_in_transaction_session_timeout = 0`

/** Runs outside the caller's transaction. */
const outside = <A, E>(effect: Effect.Effect<A, E>) => Effect.promise(() => Effect.runPromise(effect))

describe("audited changes", () => {
  it.live("commit while another one is open, whose earlier event is found after its commit", function* () {
    const url = yield* freshDatabase
    const process = yield* Layer.build(layerOf(url))
    const sql = Context.get(process, SqlClient.SqlClient)
    const slow = yield* replicaWith(Layer.succeedContext(process))
    const other = yield* replicaOf(url)
    const changes = Effect.gen(function* () {
      yield* mayIdle(sql)
      yield* create(slow, "early", 1)
      // Whatever waits for the commit is done now, so that its locks are held.
      yield* sql`set constraints all immediate`
      return yield* outside(Effect.andThen(create(other, "late", 2), listed(other)))
    })
    expect(yield* sql.withTransaction(changes)).toEqual(["late"])
    expect(yield* listed(other)).toEqual(["late", "early"])
    expect(teamsOf(yield* other.auditExport({ limit: 9 }))).toEqual(["early", "late"])
  })
})

describe("the log of audit events", () => {
  it.live("gets an event once, from one of several servers, and one that is committed late, too", function* () {
    const url = yield* freshDatabase
    const repos = yield* Effect.forEach(count(3), () => replicaOf(url), together)
    const process = yield* Layer.build(layerOf(url))
    const slow = yield* replicaWith(Layer.succeedContext(process))
    const logged: Array<unknown> = []
    const log = (events: ReadonlyArray<AuditEvent>) => Effect.sync(() => void logged.push(...teamsOf(events)))
    const names = count(60).map((n) => `team-${n}`)
    const writing = Effect.forEach(names, (name, n) => create(repos[n % 3]!, name, 100 + n), { concurrency: 6 })
    const logging = Effect.forEach(
      repos,
      (repo) => Effect.repeat(repo.logAudit(log), { until: () => logged.length >= names.length }),
      together
    )
    const sql = Context.get(process, SqlClient.SqlClient)
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* mayIdle(sql)
        yield* create(slow, "early", 1)
        yield* outside(Effect.all([writing, logging], together))
        expect(logged.toSorted()).toEqual(names.toSorted())
      })
    )
    expect(yield* repos[1]!.logAudit(log)).toBe(1)
    expect(logged.at(-1)).toBe("early")
  })
})
