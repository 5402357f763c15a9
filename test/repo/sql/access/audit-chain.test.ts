/** The chain of audit events, when somebody changes the rows of the database, and while several servers write it. */
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { linkOf, linkText } from "../../../../src/domain/access/AuditChain.ts"
import type { AuditEvent } from "../../../../src/domain/access/AuditEvent.ts"
import { auditEventIdAt } from "../../../../src/domain/Id.ts"
import { TeamName } from "../../../../src/domain/Team.ts"
import * as AuditLog from "../../../../src/engine/access/AuditLog.ts"
import { AuditStore } from "../../../../src/repo/access/AuditStore.ts"
import { freshDatabase } from "../../../support/fresh.ts"
import { queryPostgres } from "../../../support/Postgres.ts"
import { at, count, epoch, together } from "../../contract/fixtures.ts"
import { type Replica, replicaOf } from "../Replica.ts"

const eventAt = (ms: number): AuditEvent => ({
  ...{ id: auditEventIdAt(epoch + ms), at: at(ms), action: "session.started", actor: "admin_key" },
  after: { user_agent: "A browser" }
})

const verify = (repo: Replica, expected?: string) =>
  AuditLog.verify(expected === undefined ? undefined : linkOf(expected)).pipe(Effect.provideService(AuditStore, repo))

const sixEvents = Effect.gen(function* () {
  const url = yield* freshDatabase
  const repo = yield* replicaOf(url)
  const events = count(6).map(eventAt)
  for (const event of events) yield* repo.recordAudit(event)
  const query = (...statements: ReadonlyArray<string>) =>
    Effect.forEach(statements, (statement) => Effect.promise(() => queryPostgres(url, statement)))
  return { events, query, repo }
})

const table = "webhook_trigger.audit_events"
const rehash = (sequence: number) =>
  `update ${table} e set hash = encode(sha256(convert_to(webhook_trigger.audit_content(e), 'UTF8')), 'hex')
    where sequence = ${sequence}`
const withoutTrigger = (statement: string) => [
  `alter table ${table} disable trigger all`,
  statement,
  `alter table ${table} enable trigger all`
]

describe("the chain of audit events", () => {
  it.scopedLive("is in order when nobody changed it, and has the event that was seen before", () =>
    Effect.gen(function* () {
      const { repo } = yield* sixEvents
      const { events, last, ...rest } = yield* verify(repo)
      expect([events, last!.sequence, rest]).toEqual([6, 6, {}])
      yield* repo.recordAudit(eventAt(7))
      expect(yield* verify(repo, linkText(last!))).toMatchObject({ events: 7, last: { sequence: 7 } })
      const other = linkText({ ...last!, hash: "a".repeat(64) })
      expect((yield* verify(repo, other)).broken).toMatchObject({ fault: "changed", sequence: 6 })
      expect((yield* verify(repo, `9:${"a".repeat(64)}`)).broken).toEqual({ fault: "not_found", sequence: 9 })
    })
  )

  const tampering: ReadonlyArray<readonly [what: string, statements: ReadonlyArray<string>, broken: object]> = [
    [
      "a changed text",
      [`update ${table} set after = '{}' where sequence = 3`],
      { fault: "changed", sequence: 3, event_id: expect.any(String) }
    ],
    [
      "a changed time",
      [`update ${table} set at = at + interval '1 ms' where sequence = 1`],
      { fault: "changed", sequence: 1, event_id: expect.any(String) }
    ],
    [
      "a change with a new hash",
      [`update ${table} set actor = 'host' where sequence = 3`, rehash(3)],
      { fault: "not_linked", sequence: 4, event_id: expect.any(String) }
    ],
    [
      "a change of the last event with a new hash",
      [`update ${table} set actor = 'host' where sequence = 6`, rehash(6)],
      { fault: "changed", sequence: 6 }
    ],
    ["a deleted event", [`delete from ${table} where sequence = 4`], { fault: "missing", sequence: 4 }],
    ["a deleted first event", [`delete from ${table} where sequence = 1`], { fault: "missing", sequence: 1 }],
    ["a deleted last event", [`delete from ${table} where sequence = 6`], { fault: "missing", sequence: 6 }],
    ["all events deleted", [`delete from ${table}`], { fault: "missing", sequence: 1 }],
    [
      "events in another order",
      [
        `update ${table} set sequence = -sequence where sequence in (2, 3)`,
        `update ${table} set sequence = 5 + sequence where sequence < 0`
      ],
      { fault: "changed", sequence: 2, event_id: expect.any(String) }
    ],
    [
      "an event without a place",
      withoutTrigger(
        `insert into ${table} (id, at, action, actor) values (gen_random_uuid(), now(), 'run.read', 'host')`
      ),
      { fault: "inserted", event_id: expect.any(String) }
    ],
    [
      "an event before the first",
      [
        `insert into ${table} (id, at, action, actor, sequence, previous_hash)
          values (gen_random_uuid(), now(), 'run.read', 'host', 0, '')`,
        rehash(0)
      ],
      { fault: "inserted", sequence: 0, event_id: expect.any(String) }
    ],
    [
      "an event after the last",
      [
        `insert into ${table} (id, at, action, actor, sequence, previous_hash)
          select gen_random_uuid(), now(), 'run.read', 'host', 7, hash from ${table} where sequence = 6`,
        rehash(7)
      ],
      { fault: "inserted", sequence: 7 }
    ]
  ]
  it.scopedLive.each(tampering)("shows %s", ([, statements, broken]) =>
    Effect.gen(function* () {
      const { query, repo } = yield* sixEvents
      yield* query(...statements)
      expect((yield* verify(repo)).broken).toEqual(broken)
    })
  )

  it.scopedLive("stays whole while several servers write, change and remove, and somebody verifies", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repos = yield* Effect.forEach(count(3), () => replicaOf(url), together)
      const writing = Effect.forEach(
        repos,
        (repo, n) =>
          Effect.forEach(
            count(40),
            (round) =>
              Effect.gen(function* () {
                yield* repo.recordAudit(eventAt(round))
                const team = TeamName.make(`team-${n}-${round}`)
                const of = (action: AuditEvent["action"]) => ({ ...eventAt(1_000 + round), action })
                yield* repo.createTeam(team, at(0), of("team.created"))
                yield* repo.deleteTeam(team, of("team.deleted"))
                if (round % 10 === 0) yield* repo.purgeAudit(at(20))
              }),
            { concurrency: 4 }
          ),
        together
      )
      const verifying = Effect.flatMap(verify(repos[0]!), ({ broken }) =>
        Effect.sync(() => expect(broken).toBeUndefined())
      )
      yield* Effect.raceFirst(writing, Effect.forever(verifying))
      const { events, last, ...rest } = yield* verify(repos[1]!)
      expect([last!.sequence, rest]).toEqual([360, {}])
      const { start } = yield* repos[2]!.auditChain({ after: 0, limit: 1 })
      expect(events).toBe(360 - start.sequence)
    })
  )

  it.scopedLive("stays whole after retention, whose end is the beginning of the rest", () =>
    Effect.gen(function* () {
      const { query, repo } = yield* sixEvents
      const before = linkText((yield* verify(repo)).last!)
      expect(yield* repo.purgeAudit(at(4))).toBe(4)
      expect(yield* verify(repo, before)).toMatchObject({ events: 2, last: { sequence: 6 } })
      yield* query(`delete from ${table} where sequence = 5`)
      expect((yield* verify(repo)).broken).toEqual({ fault: "missing", sequence: 5 })
      expect(yield* repo.purgeAudit(at(Duration.toMillis("1 hour")))).toBe(1)
      const gone = yield* verify(repo, before)
      expect(gone).toMatchObject({ events: 0, last: { sequence: 6 } })
      expect(gone.broken).toBeUndefined()
    })
  )
})
