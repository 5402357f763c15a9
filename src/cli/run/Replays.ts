/** `run replay`, and the shared parts of `webhook replay` and `team replay`. */
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import { MessageText } from "../../api/run/Messages.ts"
import { Replayed, type ReplayManyBody } from "../../api/run/Replays.ts"
import { Accepted, Answered } from "../../api/run/RunAnswers.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import { ThreadKey } from "../../domain/Thread.ts"
import { time } from "../../domain/Time.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, type Connection, call, show } from "../Connection.ts"
import { usage } from "../Failure.ts"
import { about } from "../Help.ts"
import { acceptedText, answerText } from "../Output.ts"
import { validated } from "../Validated.ts"
import { failUnsuccessful, wait } from "./Outcome.ts"
import { findRun, runArgument, runNotFound } from "./RunRef.ts"
import { variableOptions, variablesOf } from "./Variables.ts"

const samePrompt = Flag.Boolean("same-prompt").pipe(
  Flag.withDescription("Send the same prompt instead of rendering the current template")
)

const key = Flag.String("key").pipe(
  Flag.withDescription("An idempotency key: within 24 hours, commands with the same key replay each run only once"),
  Flag.optional
)

const headersOf = (key: Option.Option<string>) =>
  Option.match(key, {
    onNone: () => ({}),
    onSome: (key) => ({ "idempotency-key": key })
  })

const states = finalStatuses.join(", ")
const endedStatus = Schema.Literals(finalStatuses).annotate({
  message: () => ({ message: `must be one of ${states}`, override: true })
})
const [decodeStatus, statusFault] = validated("--status", endedStatus)
const status = Flag.String("status").pipe(
  Flag.withMetavar("state"),
  Flag.withDescription(`Only runs with this status: ${states}; may be repeated; default: error and timeout`),
  Flag.repeated,
  Flag.mapTryCatch((texts) => texts.map((text) => decodeStatus(text)), statusFault)
)

const timeOption = (name: "from" | "to", description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("time"),
    Flag.withDescription(description),
    Flag.mapTryCatch(...validated(`--${name}`, time("A time."))),
    Flag.optional
  )

/** The options of `webhook replay` and `team replay`. */
export const replayOptions = {
  status,
  from: timeOption("from", "Only runs accepted at or after this time, such as 2026-01-02T03:04:05Z"),
  to: timeOption("to", "Only runs accepted before this time"),
  samePrompt,
  key,
  yes,
  ...adminOptions
}

export const replayDescription = (whose: string, example: string) =>
  about(`Replay the failed runs of ${whose} that were not yet replayed`, {
    details: "Oldest first, up to 1,000. Run the command again for the next ones.",
    examples: [example]
  })

const replayedText = ({ more, refused, replayed }: typeof Replayed.Type): string =>
  [
    replayed.length + refused.length === 0 ? "No runs to replay." : `${replayed.length} replayed.`,
    ...(refused.length > 0 ? [`${refused.length} not replayed. The first error: ${refused[0]!.detail}`] : []),
    ...(more ? ["There are more; run the command again."] : [])
  ].join("\n")

interface ReplayOptions extends Connection {
  readonly status: ReadonlyArray<(typeof finalStatuses)[number]>
  readonly from: Option.Option<typeof ReplayManyBody.Type.from & {}>
  readonly to: Option.Option<typeof ReplayManyBody.Type.to & {}>
  readonly samePrompt: boolean
  readonly key: Option.Option<string>
  readonly yes: boolean
}

/** Replays the matching runs after a confirmation with their number. */
export const replayMatching = (
  client: Client,
  options: ReplayOptions,
  of: Pick<typeof ReplayManyBody.Type, "webhook_id" | "team">,
  whose: string
) =>
  Effect.gen(function* () {
    const payload = {
      ...of,
      ...(options.status.length > 0 && { status: options.status }),
      ...(Option.isSome(options.from) && { from: options.from.value }),
      ...(Option.isSome(options.to) && { to: options.to.value }),
      ...(options.samePrompt && { prompt: "same" as const })
    }
    const headers = headersOf(options.key)
    const { matched, more } = yield* client.runs.replayMany({ headers, payload: { ...payload, dry_run: true } })
    if (matched > 0) yield* confirm(options.yes, `Replay ${more ? "the oldest " : ""}${matched} runs of ${whose}?`)
    return yield* client.runs.replayMany({ headers, payload })
  })

export const showReplayed = (options: Connection, replayed: typeof Replayed.Type) =>
  show(options, Replayed, replayed, replayedText)

const message = Flag.String("message").pipe(
  Flag.withMetavar("text"),
  Flag.withDescription("A new text, for a chat message"),
  Flag.mapTryCatch(...validated("--message", MessageText)),
  Flag.optional
)

const [decodeThread, threadFault] = validated("--thread", ThreadKey)
const thread = Flag.String("thread").pipe(
  Flag.withMetavar("key"),
  Flag.withDescription("The key of another thread, or an empty text for none; default: the run's thread"),
  Flag.mapTryCatch((key) => (key === "" ? null : decodeThread(key)), threadFault),
  Flag.optional
)

export const replayOne = Command.make(
  "replay",
  { id: runArgument, variables: variableOptions, message, thread, samePrompt, key, wait, ...adminOptions },
  (options) =>
    Effect.gen(function* () {
      const variables = yield* variablesOf(options.variables)
      const hasVariables = Object.keys(variables).length > 0
      if (options.samePrompt && hasVariables) return yield* usage("use either --same-prompt or --var, not both")
      if (options.samePrompt && Option.isSome(options.message)) {
        return yield* usage("use either --same-prompt or --message, not both")
      }
      const answer = yield* call(
        options,
        (client) =>
          Effect.gen(function* () {
            const path = { run_id: yield* findRun(client, options.id) }
            // A given value replaces the run's value.
            const before = hasVariables ? (yield* client.runs.show({ path })).variables : {}
            const replaying = client.runs.replay({
              path,
              urlParams: { wait: options.wait },
              headers: headersOf(options.key),
              payload: {
                ...(options.samePrompt && { prompt: "same" }),
                ...(hasVariables && { variables: { ...before, ...variables } }),
                ...(Option.isSome(options.message) && { message: options.message.value }),
                ...(Option.isSome(options.thread) && { thread: options.thread.value })
              }
            })
            return yield* Effect.catch(replaying, failUnsuccessful)
          }),
        runNotFound(options.id)
      )
      yield* show(options, Schema.Union([Accepted, Answered]), answer, (answer) =>
        answer.status === "accepted" ? acceptedText(answer.run_id) : answerText(answer.response)
      )
    })
).pipe(
  Command.withDescription(
    about("Replay a run of a webhook, or a chat message, as a new run", {
      details: "Uses the same values or text, except for those given.",
      examples: ["webhook-trigger run replay 01890a5d-ac96-774b-bcce-b302099a8057 --var branch=main"]
    })
  )
)
