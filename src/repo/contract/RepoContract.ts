/**
 * What every driver of the repo must do, whatever it stores its rows in. For a driver of your own, in a Vitest test file:
 *
 * ```ts
 * describe("RepoMine", () => repoContract((test) => test.pipe(Effect.scoped, Effect.provide(RepoMine.layer))))
 * ```
 */
import { describe, it } from "@effect/vitest"
import type { Effect, Scope } from "effect"
import type { Repo } from "../Repo.ts"
import { adminKeyStore } from "./AdminKeyStore.ts"
import { auditStore } from "./AuditStore.ts"
import { accept } from "./accept.ts"
import { changeFeed } from "./ChangeFeed.ts"
import { cancel } from "./cancel.ts"
import { coalesce } from "./coalesce.ts"
import { end } from "./end.ts"
import { endsThatAdmit } from "./endAndAdmit.ts"
import { expire } from "./expire.ts"
import { historyStore } from "./HistoryStore.ts"
import { laneStore } from "./LaneStore.ts"
import { leaseStore } from "./LeaseStore.ts"
import { limits } from "./limits.ts"
import { pause } from "./pause.ts"
import { replyKeyStore } from "./ReplyKeyStore.ts"
import { requestStore } from "./RequestStore.ts"
import { replays } from "./replays.ts"
import { retries } from "./retries.ts"
import { rollUp } from "./rollUp.ts"
import { secretKeyStore } from "./SecretKeyStore.ts"
import { sessionStore } from "./SessionStore.ts"
import { search } from "./search.ts"
import { sentAndStarted } from "./sentAndStarted.ts"
import { statistics } from "./statistics.ts"
import { teamStore } from "./TeamStore.ts"
import { timeStore } from "./TimeStore.ts"
import { templates } from "./templates.ts"
import { webhookStore } from "./WebhookStore.ts"

/** Gives a test an empty repo. */
export type WithRepo = <A, E>(test: Effect.Effect<A, E, Repo | Scope.Scope>) => Effect.Effect<A, E>

/** Declares one test; `name` is a sentence about the suite's subject. */
export type Test = (name: string, body: Effect.Effect<unknown, unknown, Repo | Scope.Scope>) => void

/** Declares the tests that every driver must pass. */
export const repoContract = (withRepo: WithRepo): void => {
  const test: Test = (name, body) => it.live(name, () => withRepo(body))
  describe("TeamStore", () => teamStore(test))
  describe("WebhookStore", () => webhookStore(test))
  describe("WebhookStore.templates and template", () => templates(test))
  describe("RunStore.accept", () => accept(test))
  describe("RunStore.accept, by a webhook's own limits", () => limits(test))
  describe("RunStore.accept, into an open window", () => coalesce(test))
  describe("RunStore.sent and RunStore.started", () => sentAndStarted(test))
  describe("RunStore.end and RunStore.ended", () => end(test))
  describe("RunStore.endAndAdmit", () => endsThatAdmit(test))
  describe("RunStore.end as `cancelled`, cancelQueued and release", () => cancel(test))
  describe("RunStore.expire", () => expire(test))
  describe("TeamStore.pauseTeam and resumeTeam", () => pause(test))
  describe("LaneStore", () => laneStore(test))
  describe("LeaseStore", () => leaseStore(test))
  describe("HistoryStore", () => {
    historyStore(test)
    search(test)
    replays(test)
    retries(test)
    statistics(test)
    rollUp(test)
  })
  describe("RequestStore", () => requestStore(test))
  describe("AdminKeyStore", () => adminKeyStore(test))
  describe("ReplyKeyStore", () => replyKeyStore(test))
  describe("SecretKeyStore", () => secretKeyStore(test))
  describe("TimeStore", () => timeStore(test))
  describe("SessionStore", () => sessionStore(test))
  describe("AuditStore", () => auditStore(test))
  describe("ChangeFeed", () => changeFeed(test))
}
