/**
 * The rows in this process's memory, for tests. Every query is a plain scan, and every method one synchronous step, so
 * each is atomic.
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { AdminKeyStore } from "../access/AdminKeyStore.ts"
import { ApiKeyStore } from "../access/ApiKeyStore.ts"
import { AuditStore } from "../access/AuditStore.ts"
import { LeaderKeyStore } from "../access/LeaderKeyStore.ts"
import { OwnerStore } from "../access/OwnerStore.ts"
import { ReplyKeyStore } from "../access/ReplyKeyStore.ts"
import { SecretKeyStore } from "../access/SecretKeyStore.ts"
import { SessionStore } from "../access/SessionStore.ts"
import { AlertStore } from "../alert/AlertStore.ts"
import { ChangeFeed } from "../ChangeFeed.ts"
import { DeliveryStore } from "../delivery/DeliveryStore.ts"
import { DestinationStore } from "../delivery/DestinationStore.ts"
import { HistoryStore } from "../history/HistoryStore.ts"
import { RequestStore } from "../history/RequestStore.ts"
import { TeamStore } from "../manage/TeamStore.ts"
import { WebhookStore } from "../manage/WebhookStore.ts"
import type { Repo } from "../Repo.ts"
import { HttpLeaderStore } from "../run/HttpLeaderStore.ts"
import { LaneStore } from "../run/LaneStore.ts"
import { LeaseStore } from "../run/LeaseStore.ts"
import { ProgressStore } from "../run/ProgressStore.ts"
import { RunStore } from "../run/RunStore.ts"
import { ThreadStore } from "../run/ThreadStore.ts"
import { TimeStore } from "../TimeStore.ts"
import { makeAdminKeyStore } from "./access/AdminKeyStoreMemory.ts"
import { makeApiKeyStore } from "./access/ApiKeyStoreMemory.ts"
import { makeLeaderKeyStore } from "./access/LeaderKeyStoreMemory.ts"
import { makeOwnerStore } from "./access/OwnerStoreMemory.ts"
import { makeSecretKeyStore } from "./access/SecretKeyStoreMemory.ts"
import { makeSessionStore } from "./access/SessionStoreMemory.ts"
import { makeAlertStore } from "./alert/AlertStoreMemory.ts"
import { makeDeliveryStore } from "./delivery/DeliveryStoreMemory.ts"
import { makeDestinationStore } from "./delivery/DestinationStoreMemory.ts"
import { makeHistoryStore } from "./history/HistoryStoreMemory.ts"
import { makeRequestStore } from "./history/RequestStoreMemory.ts"
import { makeTeamStore } from "./manage/TeamStoreMemory.ts"
import { makeWebhookStore } from "./manage/WebhookStoreMemory.ts"
import { makeHttpLeaderStore } from "./run/HttpLeaderStoreMemory.ts"
import { makeLaneStore } from "./run/LaneStoreMemory.ts"
import { makeLeaseStore } from "./run/LeaseStoreMemory.ts"
import { makeProgressStore } from "./run/ProgressStoreMemory.ts"
import { makeRunStore } from "./run/RunStoreMemory.ts"
import { makeThreadStore } from "./run/ThreadStoreMemory.ts"
import { makeTables, type Tables } from "./Tables.ts"

/** Who may do what. */
const access = (tables: Tables) =>
  Context.make(ApiKeyStore, makeApiKeyStore(tables)).pipe(
    Context.add(OwnerStore, makeOwnerStore(tables)),
    Context.add(SessionStore, makeSessionStore(tables)),
    Context.add(LeaderKeyStore, makeLeaderKeyStore(tables))
  )

/** The rows in memory. */
export const layer: Layer.Layer<Repo> = Layer.effectContext(
  Effect.map(makeTables, (tables) =>
    Context.make(TeamStore, makeTeamStore(tables)).pipe(
      Context.merge(access(tables)),
      Context.add(WebhookStore, makeWebhookStore(tables)),
      Context.add(RunStore, makeRunStore(tables)),
      Context.add(ThreadStore, makeThreadStore(tables)),
      Context.add(LaneStore, makeLaneStore(tables)),
      Context.add(LeaseStore, makeLeaseStore(tables)),
      Context.add(HistoryStore, makeHistoryStore(tables)),
      Context.add(DestinationStore, makeDestinationStore(tables)),
      Context.add(DeliveryStore, makeDeliveryStore(tables)),
      Context.add(AlertStore, makeAlertStore(tables)),
      Context.add(ProgressStore, makeProgressStore(tables)),
      Context.add(RequestStore, makeRequestStore(tables)),
      Context.add(AdminKeyStore, makeAdminKeyStore()),
      Context.add(ReplyKeyStore, { replyKey: Effect.succeed({ key: new Uint8Array(randomBytes(32)) }) }),
      Context.add(SecretKeyStore, makeSecretKeyStore()),
      Context.add(HttpLeaderStore, makeHttpLeaderStore(tables)),
      Context.add(AuditStore, tables.audit.store),
      Context.add(TimeStore, { databaseTime: tables.databaseTime }),
      Context.add(ChangeFeed, {
        listen: tables.listen,
        publish: (changes) => Effect.sync(() => changes.forEach(tables.notify)),
        ping: Effect.void
      })
    )
  )
)
