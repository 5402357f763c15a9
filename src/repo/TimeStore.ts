import { Context, type Effect } from "effect"
import type { Unavailable } from "../domain/Errors.ts"

/** The database's clock, the same for all servers. */
export class TimeStore extends Context.Service<
  TimeStore,
  {
    /** Milliseconds since the epoch, at some moment during this call. */
    readonly databaseTime: Effect.Effect<number, Unavailable>
  }
>()("webhook-trigger/TimeStore") {}
