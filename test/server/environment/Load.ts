/** The settings of these environment variables. */
import { ConfigProvider, Effect, Result } from "effect"
import * as Environment from "../../../src/server/environment/Environment.ts"

export const load = (variables: Readonly<Record<string, string>>) =>
  Environment.load.pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: variables })),
    Effect.result
  )

export const loaded = (variables: Readonly<Record<string, string>>) => Effect.map(load(variables), Result.getOrThrow)

export const faults = (variables: Readonly<Record<string, string>>) =>
  Effect.map(load(variables), (result) => (Result.isFailure(result) ? result.failure.faults : []))
