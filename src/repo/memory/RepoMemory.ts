/**
 * The rows in this process's memory, for tests. Every query is a plain scan, and every method one synchronous step, so
 * each is atomic.
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { AdminKeyStore } from "../AdminKeyStore.ts"
import { AuditStore } from "../AuditStore.ts"
import { ChangeFeed } from "../ChangeFeed.ts"
import { DeliveryStore } from "../DeliveryStore.ts"
import { DestinationStore } from "../DestinationStore.ts"
import { HistoryStore } from "../HistoryStore.ts"
import { LaneStore } from "../LaneStore.ts"
import { LeaderKeyStore } from "../LeaderKeyStore.ts"
import { LeaseStore } from "../LeaseStore.ts"
import { ProgressStore } from "../ProgressStore.ts"
import { ReplyKeyStore } from "../ReplyKeyStore.ts"
import type { Repo } from "../Repo.ts"
import { RequestStore } from "../RequestStore.ts"
import { RunStore } from "../RunStore.ts"
import { SecretKeyStore } from "../SecretKeyStore.ts"
import { SessionStore } from "../SessionStore.ts"
import { TeamStore } from "../TeamStore.ts"
import { ThreadStore } from "../ThreadStore.ts"
import { TimeStore } from "../TimeStore.ts"
import { WebhookStore } from "../WebhookStore.ts"
import { makeAdminKeyStore } from "./AdminKeyStoreMemory.ts"
import { makeDeliveryStore, makeDestinationStore } from "./DeliveryMemory.ts"
import { makeHistoryStore } from "./HistoryStoreMemory.ts"
import { makeLaneStore } from "./LaneStoreMemory.ts"
import { makeLeaderKeyStore } from "./LeaderKeyStoreMemory.ts"
import { makeLeaseStore } from "./LeaseStoreMemory.ts"
import { makeProgressStore } from "./ProgressStoreMemory.ts"
import { makeRequestStore } from "./RequestStoreMemory.ts"
import { makeRunStore } from "./RunStoreMemory.ts"
import { makeSecretKeyStore } from "./SecretKeyStoreMemory.ts"
import { makeSessionStore } from "./SessionStoreMemory.ts"
import { makeTables } from "./Tables.ts"
import { makeTeamStore } from "./TeamStoreMemory.ts"
import { makeThreadStore } from "./ThreadStoreMemory.ts"
import { makeWebhookStore } from "./WebhookStoreMemory.ts"

/** The rows in memory. */
export const layer: Layer.Layer<Repo> = Layer.effectContext(
  Effect.map(makeTables, (tables) =>
    Context.make(TeamStore, makeTeamStore(tables)).pipe(
      Context.add(WebhookStore, makeWebhookStore(tables)),
      Context.add(RunStore, makeRunStore(tables)),
      Context.add(ThreadStore, makeThreadStore(tables)),
      Context.add(LaneStore, makeLaneStore(tables)),
      Context.add(LeaseStore, makeLeaseStore(tables)),
      Context.add(HistoryStore, makeHistoryStore(tables)),
      Context.add(DestinationStore, makeDestinationStore(tables)),
      Context.add(DeliveryStore, makeDeliveryStore(tables)),
      Context.add(ProgressStore, makeProgressStore(tables)),
      Context.add(RequestStore, makeRequestStore(tables)),
      Context.add(AdminKeyStore, makeAdminKeyStore()),
      Context.add(ReplyKeyStore, { replyKey: Effect.succeed({ key: new Uint8Array(randomBytes(32)) }) }),
      Context.add(SecretKeyStore, makeSecretKeyStore()),
      Context.add(SessionStore, makeSessionStore(tables)),
      Context.add(LeaderKeyStore, makeLeaderKeyStore(tables)),
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
