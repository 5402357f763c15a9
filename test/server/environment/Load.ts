/** The settings of these environment variables. */
import { ConfigProvider, Effect, Either } from "effect"
import * as Environment from "../../../src/server/environment/Environment.ts"

export const load = (variables: Readonly<Record<string, string>>) =>
  Environment.load.pipe(
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables)))),
    Effect.either
  )

export const loaded = (variables: Readonly<Record<string, string>>) => Effect.map(load(variables), Either.getOrThrow)

export const faults = (variables: Readonly<Record<string, string>>) =>
  Effect.map(load(variables), (result) => (Either.isLeft(result) ? result.left.faults : []))
