/** The address and the key of a profile, where neither options nor the environment have them. */
import { Config, ConfigProvider, Effect, Option } from "effect"
import { type Failure, usage } from "../Failure.ts"
import { type Profile, type Profiles, read } from "./ProfileFile.ts"

/** The values of options. */
export interface Given {
  readonly profile: string | undefined
  readonly url: string | undefined
  readonly key: string | undefined
}

const [urlVariable, keyVariable] = ["WEBHOOK_TRIGGER_URL", "ADMIN_API_KEY"]

const variable = (name: string) =>
  Effect.map(Effect.orElseSucceed(Config.option(Config.NonEmptyString(name)), Option.none), Option.getOrUndefined)

const withoutSlash = (url: string) => url.replace(/\/+$/, "")

/** A key is sent only to the server of its profile. */
const settingsOf = ({ key, url }: Profile, used: string | undefined) => {
  const isForIt = used === undefined || withoutSlash(used) === withoutSlash(url)
  return ConfigProvider.fromMap(new Map([[urlVariable, url], ...(isForIt ? [[keyVariable, key] as const] : [])]))
}

const find = ({ profiles }: Profiles, name: string): Effect.Effect<Profile, Failure> => {
  const found = profiles[name]
  return found === undefined
    ? Effect.fail(usage(`there is no profile ${JSON.stringify(name)}; see webhook-trigger profile list`))
    : Effect.succeed(found)
}

/**
 * Runs a command with the settings of a profile. One that an option names comes before the environment, any other one
 * after it.
 */
export const withProfile =
  ({ key, profile: named, url }: Given) =>
  <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E | Failure, R> =>
    Effect.gen(function* () {
      const [urlSet, keySet] = [yield* variable(urlVariable), yield* variable(keyVariable)]
      if (named !== undefined) {
        const profile = yield* find(yield* read, named)
        return yield* ConfigProvider.ConfigProvider.use((environment) =>
          Effect.provideService(
            command,
            // The environment's key may be for another server.
            ConfigProvider.ConfigProvider, ConfigProvider.orElse(settingsOf(profile, url), () => environment)
          )
        )
      }
      if ((url ?? urlSet) !== undefined && (key ?? keySet) !== undefined) return yield* command
      const profiles = yield* read
      const name = (yield* variable("WEBHOOK_PROFILE")) ?? profiles.current
      if (name === null) return yield* command
      const profile = yield* find(profiles, name)
      return yield* ConfigProvider.ConfigProvider.use((environment) =>
        Effect.provideService(
          command,
          ConfigProvider.ConfigProvider, ConfigProvider.orElse(environment, () => settingsOf(profile, url ?? urlSet))
        )
      )
    })
