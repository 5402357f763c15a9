/** Processes that share a PostgreSQL database, each with a repo of its own. */
import { type Context, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import * as PostgresClient from "../../src/repo/database/PostgresClient.ts"
import { Repo } from "../../src/repo/Repo.ts"
import * as RepoSql from "../../src/repo/RepoSql.ts"

/** The error of an effect that must fail, and in time; on a busy machine, all takes longer. */
export const refusal = (effect: Effect.Effect<unknown, unknown>) => Effect.timeout(Effect.flip(effect), "1 minute")

export const layerOf = (url: string) =>
  RepoSql.layer.pipe(Layer.provideMerge(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 5 })))

export type Replica = Effect.Success<typeof Repo> & {
  /** What a helper does with this process's repo. */
  readonly use: <A, E>(effect: Effect.Effect<A, E, Repo>) => Effect.Effect<A, E>
}

/** A process's own repo, for as long as the scope is open. */
export const replicaWith = <E>(layer: Layer.Layer<Repo, E>): Effect.Effect<Replica, E, Scope.Scope> =>
  Effect.flatMap(Layer.build(layer), (context: Context.Context<Repo>) =>
    Effect.provide(
      Effect.map(Repo, (repo) => ({ ...repo, use: Effect.provide(context) })),
      context
    )
  )

export const replicaOf = (url: string) => replicaWith(layerOf(url))

/** Waits until it succeeds, as long as the test may take. */
export const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, Schedule.spaced("50 millis"))
