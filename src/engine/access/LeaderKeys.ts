import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import { type LeaderKey, LeaderKeyDraft } from "../../domain/access/LeaderKey.ts"
import type { Invalid, NotFound, Unavailable } from "../../domain/Errors.ts"
import { type LeaderKeyId, makeLeaderKeyId } from "../../domain/Id.ts"
import { leaderKeyIdOf, teamNameOf } from "../../domain/ParsedId.ts"
import { validate } from "../../domain/Validation.ts"
import { secretHintOf } from "../../domain/webhook/SecretHint.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { LeaderKeyStore } from "../../repo/access/LeaderKeyStore.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { hashOf, isSecretShaped, makeSecret } from "../verify/Secret.ts"
import * as Audit from "./Audit.ts"

/** The time between two recorded uses, so that few requests need a statement for it. */
const useInterval = Duration.minutes(5)

/**
 * How long a key is believed without being read again, in milliseconds. When one is revoked, every process is notified; this
 * is the bound for a notification that was lost.
 */
const memory = 1_000
const mostRemembered = 10_000

/** A new key, with the secret itself, which is not stored. */
interface NewLeaderKey {
  readonly leader_key: LeaderKey
  readonly key: Redacted.Redacted
}

/** The keys with which leaders get their team's prompts over HTTP. */
export class LeaderKeys extends Context.Service<
  LeaderKeys,
  {
    /** From an unchecked draft. Lists every fault. */
    readonly create: (team: string, draft: unknown) => Effect.Effect<NewLeaderKey, Invalid | NotFound | Unavailable>
    /** Oldest first. */
    readonly list: (team: string) => Effect.Effect<ReadonlyArray<LeaderKey>, NotFound | Unavailable>
    readonly revoke: (team: string, id: string) => Effect.Effect<void, NotFound | Unavailable>
    /** The key with this secret; counts as its use. One that was revoked is found for a second at most. */
    readonly find: (key: Redacted.Redacted) => Effect.Effect<Option.Option<LeaderKey>, Unavailable>
  }
>()("webhook-trigger/LeaderKeys") {
  static readonly layer: Layer.Layer<LeaderKeys, never, ChangeFeed | LeaderKeyStore> = Layer.effect(
    LeaderKeys,
    Effect.gen(function* () {
      const store = yield* LeaderKeyStore
      const feed = yield* ChangeFeed
      const known = new RecentMap<string, { readonly key: LeaderKey; readonly read_at: number }>(mostRemembered)

      const forget = (ids: ReadonlySet<LeaderKeyId>) => {
        for (const [secret, { key }] of known) if (ids.has(key.id)) known.delete(secret)
      }
      yield* feed.listen((changes) => {
        const revoked = changes.flatMap((change) => (change._tag === "LeaderKeyRevoked" ? [change.leader_key_id] : []))
        if (revoked.length > 0) forget(new Set(revoked))
      })

      const readTogether = yield* GroupCommit.make({ size: 500, commit: store.leaderKeysByHash })
      const read = (key_hash: TokenHash) =>
        Effect.gen(function* () {
          const read_at = yield* Clock.currentTimeMillis
          const [key] = yield* readTogether([key_hash])
          if (key === undefined) known.delete(nameOf(key_hash))
          else known.set(nameOf(key_hash), { key, read_at })
          return key
        })

      const use = (key: LeaderKey, key_hash: TokenHash, now: DateTime.Utc) =>
        Effect.gen(function* () {
          yield* store.recordLeaderKeyUse(key.id, now)
          const used = { ...key, last_used_at: now }
          const remembered = known.get(nameOf(key_hash))
          if (remembered !== undefined) known.set(nameOf(key_hash), { ...remembered, key: used })
          return used
        })

      return LeaderKeys.of({
        create: Effect.fn("LeaderKeys.create")(function* (given: string, draft: unknown) {
          const team = yield* teamNameOf(given)
          const { name } = yield* decodeDraft(draft)
          const key = makeSecret("whl_")
          const leader_key: LeaderKey = {
            id: yield* makeLeaderKeyId,
            team,
            name,
            hint: secretHintOf(key),
            created_at: yield* DateTime.now
          }
          yield* store.createLeaderKey(
            { ...leader_key, key_hash: hashOf(key) },
            yield* Audit.draft("team.leader_key_created")
          )
          return { leader_key, key: Redacted.make(key) }
        }),
        list: (team) => Effect.flatMap(teamNameOf(team), store.leaderKeys),
        revoke: Effect.fn("LeaderKeys.revoke")(function* (team: string, given: string) {
          const id = yield* leaderKeyIdOf(given)
          yield* store.revokeLeaderKey(yield* teamNameOf(team), id, yield* Audit.draft("team.leader_key_revoked"))
          forget(new Set([id]))
        }),
        find: Effect.fn("LeaderKeys.find")(function* (given: Redacted.Redacted) {
          const text = Redacted.value(given)
          if (!isKeyShaped(text)) return Option.none()
          const now = yield* DateTime.now
          const key_hash = hashOf(text)
          const remembered = known.get(nameOf(key_hash))
          const isRecent = remembered !== undefined && DateTime.toEpochMillis(now) - remembered.read_at < memory
          const key = isRecent ? remembered.key : yield* read(key_hash)
          if (key === undefined) return Option.none()
          const isUnrecorded =
            key.last_used_at === undefined ||
            Duration.isGreaterThanOrEqualTo(DateTime.distance(key.last_used_at, now), useInterval)
          return Option.some(isUnrecorded ? yield* use(key, key_hash, now) : key)
        })
      })
    })
  )
}

const decodeDraft = validate(LeaderKeyDraft)

/** Anything else needs no lookup. */
const isKeyShaped = (text: string): boolean => isSecretShaped("whl_", text)

const nameOf = (key_hash: TokenHash): string => Buffer.from(key_hash).toString("base64")
