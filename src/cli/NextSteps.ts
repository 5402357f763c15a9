/** The program's text when it is called without any words: what to do next. */
import { Effect, Option } from "effect"
import * as Call from "./Call.ts"
import { exitCodes } from "./Failure.ts"
import { print } from "./Output.ts"
import { ownCommand } from "./OwnCommand.ts"
import { accessText } from "./profile/Profiles.ts"

const toStart = [
  "Start one to try it out, with a demo team:",
  `  ${ownCommand} serve`,
  "Or with an agent, as the team review:",
  `  ${ownCommand} serve --agent 'review=claude'`,
  "Or sign in to a server that runs elsewhere:",
  `  ${ownCommand} login --url https://hooks.example.com`
]

const toSignIn = [
  "Sign in with an API key, or the admin key that its first start has printed:",
  `  ${ownCommand} login`
]

const toUse = [
  `  ${ownCommand} team list`,
  `  ${ownCommand} webhook create --from github --team <team>`,
  `  ${ownCommand} webhook run <webhook> --sample`,
  `  ${ownCommand} run watch last`
]

/** By what the server answers, if there is one. */
export const nextSteps = Effect.gen(function* () {
  const { call, url } = yield* Call.current
  const [about, steps] = yield* call((client) => client.apiKeys.current()).pipe(
    Effect.timeoutOption("3 seconds"),
    Effect.map(
      Option.match({
        onNone: () => [`The server at ${url} does not answer.`, toStart] as const,
        onSome: (access) => [`Signed in to ${url} with ${accessText(access)}. First commands:`, toUse] as const
      })
    ),
    Effect.catchTag("CliFailure", ({ exit, title }) =>
      Effect.succeed(
        exit === exitCodes.outOfReach
          ? ([`${title}.`, toStart] as const)
          : ([`The server at ${url} runs.`, toSignIn] as const)
      )
    )
  )
  yield* print([about, "", ...steps, "", `All commands: ${ownCommand} --help`].join("\n"))
})
