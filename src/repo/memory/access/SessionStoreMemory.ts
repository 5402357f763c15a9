import { type Context, DateTime, Effect } from "effect"
import { SessionStore } from "../../access/SessionStore.ts"
import { sameBytes, storableFields, type Tables } from "../Tables.ts"

export const makeSessionStore = (tables: Tables): Context.Tag.Service<SessionStore> => {
  const { audit, sessions } = tables

  return SessionStore.of({
    createSession: (session, draft) =>
      Effect.sync(() => {
        const { id, oauth_client, token_hash, user_agent } = session
        if ([...sessions.values()].some((other) => sameBytes(other.token_hash, token_hash))) return
        sessions.set(id, storableFields(session))
        audit.write(draft, { object: id, after: { user_agent, ...(oauth_client !== undefined && { oauth_client }) } })
      }),
    sessionsByToken: (hashes) =>
      Effect.sync(() =>
        hashes.map((hash) => [...sessions.values()].find(({ token_hash }) => sameBytes(token_hash, hash)))
      ),
    sessions: Effect.sync(() =>
      [...sessions.values()]
        .sort((a, b) => DateTime.distance(a.last_used_at, b.last_used_at) || (a.id < b.id ? 1 : -1))
        .map(({ sealed_id_token: _, ...session }) => session)
    ),
    recordSessionUse: (id, use) =>
      Effect.sync(() => {
        const session = sessions.get(id)
        if (session) sessions.set(id, { ...session, ...use })
      }),
    endSessions: (ids, draft) =>
      Effect.sync(() => {
        const ended = ids.filter((id) => {
          const session = sessions.get(id)
          if (session?.oauth_client === undefined) return sessions.delete(id)
          sessions.set(id, { ...session, is_ended: true })
          return session.is_ended === undefined
        })
        if (ended.length === 1) audit.write(draft, { object: ended[0]! })
        else if (ended.length > 1) audit.write(draft, { after: { ended: ended.length } })
        return ended
      }),
    removeSessions: (ids) =>
      Effect.sync(() => {
        for (const id of ids) sessions.delete(id)
      })
  })
}
