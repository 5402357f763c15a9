/** What the rows must do on every database. */
import { Effect, type Scope } from "effect"
import type { Repo } from "../../../src/repo/Repo.ts"
import { type Body, describe, it } from "../../support/It.ts"
import { adminKeyStore } from "./access/AdminKeyStore.ts"
import { apiKeyStore } from "./access/ApiKeyStore.ts"
import { auditStore } from "./access/AuditStore.ts"
import { leaderKeyStore } from "./access/LeaderKeyStore.ts"
import { ownerStore } from "./access/OwnerStore.ts"
import { replyKeyStore } from "./access/ReplyKeyStore.ts"
import { secretKeyStore } from "./access/SecretKeyStore.ts"
import { sessionStore } from "./access/SessionStore.ts"
import { tokens } from "./access/tokens.ts"
import { alertStore } from "./alert/AlertStore.ts"
import { changeFeed } from "./ChangeFeed.ts"
import { deliveryAttempts } from "./delivery/attempts.ts"
import { deliveryStore } from "./delivery/DeliveryStore.ts"
import { heldDeliveries } from "./delivery/holds.ts"
import { startedDeliveries } from "./delivery/starts.ts"
import { historyStore } from "./history/HistoryStore.ts"
import { requestStore } from "./history/RequestStore.ts"
import { rollUp } from "./history/rollUp.ts"
import { search } from "./history/search.ts"
import { statistics } from "./history/statistics.ts"
import { usage } from "./history/usage.ts"
import { pauses } from "./manage/pauses.ts"
import { teamStore } from "./manage/TeamStore.ts"
import { templates } from "./manage/templates.ts"
import { webhookStore } from "./manage/WebhookStore.ts"
import { accept } from "./run/accept.ts"
import { budgets } from "./run/budgets.ts"
import { cancel } from "./run/cancel.ts"
import { coalesce } from "./run/coalesce.ts"
import { end } from "./run/end.ts"
import { endsWithTimes } from "./run/endTimes.ts"
import { expire } from "./run/expire.ts"
import { runFiles } from "./run/files.ts"
import { httpLeaderStore } from "./run/HttpLeaderStore.ts"
import { holds } from "./run/holds.ts"
import { idempotency } from "./run/idempotency.ts"
import { admissions, laneStore } from "./run/LaneStore.ts"
import { limits } from "./run/limits.ts"
import { offers } from "./run/offers.ts"
import { pause } from "./run/pause.ts"
import { progress } from "./run/progress.ts"
import { replays } from "./run/replays.ts"
import { rests } from "./run/rests.ts"
import { retries } from "./run/retries.ts"
import { sentAndStarted } from "./run/sentAndStarted.ts"
import { singletons } from "./run/singletons.ts"
import { threadStore } from "./run/ThreadStore.ts"
import { threads } from "./run/threads.ts"
import { unreleased } from "./run/unreleased.ts"
import { timeStore } from "./TimeStore.ts"

/** Gives a test an empty repo. */
export type WithRepo = <A, E>(test: Effect.Effect<A, E, Repo | Scope.Scope>) => Effect.Effect<A, E>

/** Declares one test; `name` is a sentence about the suite's subject. */
export type Test = (name: string, body: Body<Repo | Scope.Scope>) => void

export const repoContract = (withRepo: WithRepo): void => {
  const test: Test = (name, body) => it.live(name, () => withRepo(Effect.gen(body)))
  describe("TeamStore", () => teamStore(test))
  describe("WebhookStore", () => webhookStore(test))
  describe("WebhookStore, by token", () => tokens(test))
  describe("WebhookStore.templates and template", () => templates(test))
  describe("WebhookStore.pauseWebhook and resumeWebhook", () => pauses(test))
  describe("RunStore.step, accepting", () => accept(test))
  describe("FileStore", () => runFiles(test))
  describe("RunStore.step, accepting, with idempotency keys", () => idempotency(test))
  describe("RunStore.step, accepting, by a webhook's own limits", () => limits(test))
  describe("RunStore.step, accepting, by a webhook's budget of the day", () => budgets(test))
  describe("RunStore.step, accepting, into an open window", () => coalesce(test))
  describe("RunStore.step, accepting, runs that are held, and LaneStore.endHolds", () => holds(test))
  describe("RunStore.step, accepting, one at a time by key, and cancelSingletons", () => singletons(test))
  describe("RunStore.step, in threads", () => threads(test))
  describe("RunStore.sent and RunStore.started", () => sentAndStarted(test))
  describe("RunStore.step, ending, and RunStore.ended", () => end(test))
  describe("RunStore.step, ending, with the times of sending and start", () => endsWithTimes(test))
  describe("RunStore.step, cancelling and releasing, and cancelQueued", () => cancel(test))
  describe("RunStore, runs that have ended and whose agents may still work", () => unreleased(test))
  describe("RunStore.expire", () => expire(test))
  describe("TeamStore.pauseTeam and resumeTeam", () => pause(test))
  describe("RunStore.rest and LaneStore.wakeTeams", () => rests(test))
  describe("ThreadStore", () => threadStore(test))
  describe("ProgressStore", () => progress(test))
  describe("LaneStore", () => laneStore(test))
  describe("RunStore.step", () => admissions(test))
  describe("HistoryStore", () => {
    historyStore(test)
    search(test)
    usage(test)
    replays(test)
    retries(test)
    statistics(test)
    rollUp(test)
  })
  describe("RequestStore", () => requestStore(test))
  describe("OfferStore", () => offers(test))
  describe("DestinationStore and DeliveryStore", () => {
    deliveryStore(test)
    deliveryAttempts(test)
    heldDeliveries(test)
    startedDeliveries(test)
  })
  describe("AlertStore", () => alertStore(test))
  describe("AdminKeyStore", () => adminKeyStore(test))
  describe("ReplyKeyStore", () => replyKeyStore(test))
  describe("SecretKeyStore", () => secretKeyStore(test))
  describe("TimeStore", () => timeStore(test))
  describe("SessionStore", () => sessionStore(test))
  describe("LeaderKeyStore", () => leaderKeyStore(test))
  describe("ApiKeyStore", () => apiKeyStore(test))
  describe("OwnerStore", () => ownerStore(test))
  describe("HttpLeaderStore", () => httpLeaderStore(test))
  describe("AuditStore", () => auditStore(test))
  describe("ChangeFeed", () => changeFeed(test))
}
