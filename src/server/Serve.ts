import cluster from "node:cluster"
import { Config, Effect, Option } from "effect"
import type { Failure } from "../cli/Failure.ts"
import type { Overrides } from "../cli/LocalCommands.ts"
import { print } from "../cli/Output.ts"
import { withOverrides } from "./environment/Overrides.ts"
import * as PrimaryEnvironment from "./environment/PrimaryEnvironment.ts"
import type { Started } from "./ServerProcess.ts"
import { workerVariable } from "./workers/WorkerMessages.ts"

const announce = ({ address, welcome }: Started) =>
  Effect.zipRight(print(welcome), Effect.logInfo(`Listening on ${address}`))

/** The number of this worker; none for the process that the user started. */
const worker = cluster.isWorker
  ? Effect.orDie(Config.option(Config.integer(workerVariable)))
  : Effect.succeed(Option.none<number>())

/**
 * The `serve` command. Runs until a signal arrives. With several workers this process is only their primary and does not
 * load the server. Invalid settings are reported by the process that serves.
 */
export const serve = (overrides: Overrides, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const number = yield* worker
    if (Option.isSome(number)) {
      const { run } = yield* Effect.promise(() => import("./workers/Worker.ts"))
      return yield* run(number.value, version)
    }
    const environment = yield* Effect.option(PrimaryEnvironment.load)
    if (Option.isSome(environment) && environment.value.workers > 1 && cluster.isPrimary) {
      const { run } = yield* Effect.promise(() => import("./workers/Workers.ts"))
      return yield* run(environment.value)
    }
    const { run } = yield* Effect.promise(() => import("./ServerProcess.ts"))
    return yield* run(version, announce)
  }).pipe(withOverrides(overrides))
