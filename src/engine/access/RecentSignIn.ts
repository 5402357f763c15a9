import { DateTime, Duration } from "effect"
import type { Session } from "../../domain/access/Session.ts"

/** Sensitive actions need a session in which the key was entered, or the person signed in, within this time. */
export const recentFor = Duration.minutes(10)

export const isRecent = ({ authenticated_at }: Pick<Session, "authenticated_at">, now: DateTime.Utc): boolean =>
  authenticated_at !== undefined && Duration.isLessThan(DateTime.distance(authenticated_at, now), recentFor)
