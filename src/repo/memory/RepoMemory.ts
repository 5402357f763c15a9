/**
 * The rows in this process's memory, for tests: gone with the process. Every question is a plain scan, and every method is
 * one synchronous step, so each is atomic.
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { AdminKeyStore } from "../AdminKeyStore.ts"
import { AuditStore } from "../AuditStore.ts"
import { ChangeFeed } from "../ChangeFeed.ts"
import { HistoryStore } from "../HistoryStore.ts"
import { LaneStore } from "../LaneStore.ts"
import { LeaseStore } from "../LeaseStore.ts"
import { ReplyKeyStore } from "../ReplyKeyStore.ts"
import type { Repo } from "../Repo.ts"
import { RequestStore } from "../RequestStore.ts"
import { RunStore } from "../RunStore.ts"
import { SecretKeyStore } from "../SecretKeyStore.ts"
import { SessionStore } from "../SessionStore.ts"
import { TeamStore } from "../TeamStore.ts"
import { TimeStore } from "../TimeStore.ts"
import { WebhookStore } from "../WebhookStore.ts"
import { makeAdminKeyStore } from "./AdminKeyStoreMemory.ts"
import { makeHistoryStore } from "./HistoryStoreMemory.ts"
import { makeLaneStore } from "./LaneStoreMemory.ts"
import { makeLeaseStore } from "./LeaseStoreMemory.ts"
import { makeRequestStore } from "./RequestStoreMemory.ts"
import { makeRunStore } from "./RunStoreMemory.ts"
import { makeSecretKeyStore } from "./SecretKeyStoreMemory.ts"
import { makeSessionStore } from "./SessionStoreMemory.ts"
import { makeTables } from "./Tables.ts"
import { makeTeamStore } from "./TeamStoreMemory.ts"
import { makeWebhookStore } from "./WebhookStoreMemory.ts"

/** The rows in memory. */
export const layer: Layer.Layer<Repo> = Layer.effectContext(
  Effect.map(makeTables, (tables) =>
    Context.make(TeamStore, makeTeamStore(tables)).pipe(
      Context.add(WebhookStore, makeWebhookStore(tables)),
      Context.add(RunStore, makeRunStore(tables)),
      Context.add(LaneStore, makeLaneStore(tables)),
      Context.add(LeaseStore, makeLeaseStore(tables)),
      Context.add(HistoryStore, makeHistoryStore(tables)),
      Context.add(RequestStore, makeRequestStore(tables)),
      Context.add(AdminKeyStore, makeAdminKeyStore()),
      Context.add(ReplyKeyStore, { replyKey: Effect.succeed({ key: new Uint8Array(randomBytes(32)) }) }),
      Context.add(SecretKeyStore, makeSecretKeyStore()),
      Context.add(SessionStore, makeSessionStore(tables)),
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
