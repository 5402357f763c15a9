import { Clock, Duration, Effect } from "effect"
import type { RunId } from "../../domain/Id.ts"
import type { AuditStore } from "../../repo/access/AuditStore.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { draft, Origin, record } from "./Audit.ts"

/** Reads of a run within this time are one event: a page of the web UI reads an unfinished run every few seconds. */
const window = Duration.toMillis(Duration.minutes(10))

/** Maximum number of remembered reads. */
const mostRemembered = 10_000

/** Writes the event for reading a whole run: one for each run and reader in ten minutes. */
export const make = () => {
  const known = new RecentMap<string, number>(mostRemembered)
  return (object: RunId): Effect.Effect<void, never, AuditStore> =>
    Effect.gen(function* () {
      const { actor, client_address, key_id, session_id } = yield* Origin
      const now = yield* Clock.currentTimeMillis
      const read = [object, actor, key_id, session_id ?? client_address].join()
      if (now - (known.get(read) ?? Number.NEGATIVE_INFINITY) < window) return
      known.set(read, now)
      yield* record({ ...(yield* draft("run.read")), object })
    })
}
