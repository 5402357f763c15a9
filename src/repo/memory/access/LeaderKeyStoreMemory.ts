import { type Context, Effect } from "effect"
import type { LeaderKey, LeaderKeyRow } from "../../../domain/access/LeaderKey.ts"
import { NotFound } from "../../../domain/Errors.ts"
import { LeaderKeyStore } from "../../access/LeaderKeyStore.ts"
import { orNotFound, sameBytes, storableFields, type Tables } from "../Tables.ts"

const withoutHash = ({ key_hash: _, ...key }: LeaderKeyRow): LeaderKey => key

export const makeLeaderKeyStore = (tables: Tables): Context.Tag.Service<LeaderKeyStore> => {
  const { audit, leaderKeys, notify, teams } = tables
  const all = () => [...leaderKeys.values()]
  const shown = ({ hint, id, name }: LeaderKey) => ({ id, name, hint })

  return LeaderKeyStore.of({
    createLeaderKey: (key, draft) =>
      orNotFound(
        () => teams.get(key.team),
        () => {
          const stored = storableFields(key)
          leaderKeys.set(key.id, stored)
          audit.write(draft, { object: key.team, after: shown(stored) })
        }
      ),
    leaderKeys: (team) =>
      orNotFound(
        () => teams.get(team),
        () =>
          all()
            .filter((key) => key.team === team)
            .map(withoutHash)
      ),
    leaderKeysByHash: (hashes) =>
      Effect.sync(() =>
        hashes.map((hash) => {
          const found = all().find(({ key_hash }) => sameBytes(key_hash, hash))
          return found && withoutHash(found)
        })
      ),
    recordLeaderKeyUse: (id, last_used_at) =>
      Effect.sync(() => {
        const key = leaderKeys.get(id)
        if (key) leaderKeys.set(id, { ...key, last_used_at })
      }),
    revokeLeaderKey: (team, id, draft) =>
      Effect.suspend(() => {
        const key = leaderKeys.get(id)
        if (key?.team !== team) return new NotFound()
        leaderKeys.delete(id)
        audit.write(draft, { object: team, before: shown(key) })
        notify({ _tag: "LeaderKeyRevoked", leader_key_id: id })
        return Effect.void
      })
  })
}
