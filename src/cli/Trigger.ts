import { Args, Command } from "@effect/cli"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import { Accepted, Answered, Ignored } from "../api/Trigger.ts"
import { triggerPath } from "../api/TriggerUrl.ts"
import { call, parseUrl, publicOptions, show } from "./Connection.ts"
import { usage } from "./Failure.ts"
import { about } from "./Help.ts"
import { failUnsuccessful, wait } from "./Outcome.ts"
import { acceptedText, answerText } from "./Output.ts"
import { variableOptions, variablesOf } from "./Variables.ts"

const target = Args.redacted({ name: "token-or-url" }).pipe(
  Args.withDescription(
    "The trigger URL, or the token alone; better given as WEBHOOK_TOKEN, which no process list shows"
  ),
  // A missing token is reported like a malformed one.
  Args.withFallbackConfig(Config.redacted(Config.withDefault(Config.string("WEBHOOK_TOKEN"), "")))
)

const path = `${triggerPath}/`

/** A trigger URL holds the server's address and the token, and may say that the caller waits. */
const locate = (target: string, url: string) => {
  const at = Math.max(target.indexOf(path), 0)
  const [token = "", query] = target.slice(at + path.length).split(/[?#]/)
  return Option.match(parseUrl(target.slice(0, at)), {
    onSome: (url) => Effect.succeed({ url, token, waits: new URLSearchParams(query).get("wait") === "true" }),
    onNone: () =>
      target.startsWith("whk_")
        ? Effect.succeed({ url, token: target, waits: false })
        : Effect.fail(
            usage(
              "a trigger URL (https://…/webhook/trigger/whk_…) or a token (whk_…) is needed, here or in WEBHOOK_TOKEN"
            )
          )
  })
}

export const trigger = Command.make(
  "trigger",
  { target, variables: variableOptions, wait, ...publicOptions },
  (options) =>
    Effect.gen(function* () {
      const { url, token, waits } = yield* locate(Redacted.value(options.target).trim(), options.url)
      const variables = yield* variablesOf(options.variables)
      const answer = yield* call(
        { url, json: options.json },
        (client) =>
          client.trigger
            .trigger({
              path: { token },
              urlParams: options.wait || waits ? { wait: "true" } : {},
              headers: {},
              payload: { variables }
            })
            .pipe(Effect.catchAll(failUnsuccessful)),
        `No webhook at ${url} has this token, or it is switched off`
      )
      yield* show(options, Schema.Union(Accepted, Answered, Ignored), answer, (answer) => {
        if (answer.status === "ignored") return "Ignored: the webhook's accept_if does not hold. There is no run."
        return answer.status === "accepted" ? acceptedText(answer.run_id) : answerText(answer.response)
      })
    })
).pipe(
  Command.withDescription(
    about("Trigger a webhook by its URL or token; needs no admin key", {
      examples: [
        "webhook-trigger trigger https://hooks.example.com/webhook/trigger/whk_… --var branch=main --wait",
        'WEBHOOK_TOKEN=whk_… webhook-trigger trigger --var branch=main --json-var \'labels=["a","b"]\''
      ]
    })
  )
)
