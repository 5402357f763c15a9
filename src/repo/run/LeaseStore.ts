import { Context, Data, type Duration, type Effect, type Option, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"

/** Identifies the dispatcher. It grows with every new holder of the lease, which exposes earlier ones. */
export type Term = number

/** Another dispatcher holds the lease. */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

/** A lock in the database that ends with this process in any case. */
export interface ProcessLock {
  readonly id: number
  /** False also while its connection is being replaced. */
  readonly isHeld: () => boolean
}

/** The right to send prompts, for one holder at a time, in the database's time. */
export class LeaseStore extends Context.Tag("webhook-trigger/LeaseStore")<
  LeaseStore,
  {
    /**
     * Takes the lease if it is free, belongs to this holder, or ran out at least `overdue` ago. Without `overdue`, also
     * if the lock of its last renewal is gone. Otherwise returns none.
     */
    readonly acquireLease: (
      holder: string,
      life: Duration.Duration,
      overdue?: Duration.Duration
    ) => Effect.Effect<Option.Option<Term>, Unavailable>
    /** `lock`: if it is held, the lease ends with it; otherwise the lease runs out. */
    readonly renewLease: (
      term: Term,
      life: Duration.Duration,
      lock?: ProcessLock
    ) => Effect.Effect<void, LeaseLost | Unavailable>
    /**
     * A lock for the holder that began with this term, until the scope closes. With a single process, it may never be
     * held.
     */
    readonly lockForProcess: (term: Term) => Effect.Effect<ProcessLock, never, Scope.Scope>
    /**
     * Begins its holder's next term. Nothing is admitted in the previous term any more, not even by a statement on its
     * way to the database. Everything that was admitted in it is visible from now on.
     */
    readonly nextTerm: (term: Term) => Effect.Effect<Term, LeaseLost | Unavailable>
    /** Lets the lease run out, and notifies those that wait for it. This holder keeps it until another one takes it. */
    readonly offerLease: (term: Term) => Effect.Effect<void, LeaseLost | Unavailable>
    readonly releaseLease: (term: Term) => Effect.Effect<void, Unavailable>
  }
>() {}
