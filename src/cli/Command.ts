/** Commands, most of them from an endpoint of the API: its fields are their input, and its answer is what they print. */
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import { Effect, Struct, Terminal } from "effect"
import { Command, Flag, Prompt } from "effect/cli"
import type { HttpClient } from "effect/http"
import type { Client } from "../api/Client.ts"
import * as Call from "./Call.ts"
import type { Answer, EndpointName, Request } from "./Endpoint.ts"
import { exitCodes, Failure, refused, stopIfOnlyChecks, usage } from "./Failure.ts"
import { type Found, type Given, type InputOptions, inputOf, type Raw } from "./Input.ts"
import { print, printJson } from "./Output.ts"
import { rules } from "./Rules.ts"

type Services = HttpClient.HttpClient | Command.Environment

/** No fields. */
export type None = Record<never, never>

/** Any command. */
export type Leaf = Command.Command<string, never, None, Failure, Services>

type Config = Command.Command.Config
type Infer<C extends Config> = Command.Command.Config.Infer<C>

/** The texts of the help. */
export interface Texts {
  readonly about: string
  readonly details?: string | undefined
  readonly examples?: ReadonlyArray<string>
}

const described =
  ({ about, details, examples = [] }: Texts) =>
  <Input, E, R>(command: Command.Command<string, Input, None, E, R>) =>
    command.pipe(
      Command.withDescription(details === undefined ? about : `${about}\n\n  ${details}`),
      Command.withShortDescription(about),
      Command.withExamples(examples.map((command) => ({ command })))
    )

/** A command of this program alone. */
export const local = <C extends Config, R extends Services>(
  name: string,
  texts: Texts,
  config: C,
  run: (options: Infer<C>) => Effect.Effect<void, Failure, R>
): Leaf =>
  described(texts)(Command.make(name, config, (options) => Effect.andThen(stopIfOnlyChecks, run(options)))) as Leaf

type Remote<C extends Config, R> = (options: Infer<C>, connection: Call.Connection) => Effect.Effect<void, Failure, R>

const connected = <C extends Config, R>(name: string, texts: Texts, config: C, run: Remote<C, R>) =>
  Command.make(name, { given: config, server: Call.flags }, ({ given, server }) =>
    Effect.flatMap(Call.connect(server), (connection) => run(given as Infer<C>, connection))
  ).pipe(described(texts), Call.withEarlyFlags) as Leaf

/** A command that speaks to a server. */
export const remote = <C extends Config, R>(name: string, texts: Texts, config: C, run: Remote<C, R>) =>
  connected(name, texts, config, (options: Infer<C>, connection) =>
    Effect.andThen(stopIfOnlyChecks, run(options, connection))
  )

/** A command that speaks to a server without a key. */
export const open = <C extends Config, R>(name: string, texts: Texts, config: C, run: Remote<C, R>) =>
  Command.make(name, { given: config, server: Struct.omit(Call.flags, ["adminKey"]) }, ({ given, server }) =>
    Effect.flatMap(Call.connectPublicly(server), (connection) =>
      Effect.andThen(stopIfOnlyChecks, run(given as Infer<C>, connection))
    )
  ).pipe(described(texts), Call.withEarlyPublicFlags) as Leaf

/** Commands with the same first words. */
export const group = (name: string, about: string, commands: ReadonlyArray<Leaf>): Leaf =>
  Command.make(name).pipe(Command.withDescription(about), Command.withSubcommands(commands)) as Leaf

export const yes = Flag.Boolean("yes").pipe(
  Flag.withoutNegation,
  Flag.withAlias("y"),
  Flag.withDescription("Do not ask for confirmation; required without a terminal"),
  Flag.withDefault(false)
)

/** Questions go to standard error, because standard output is for the result. */
const terminalWith = (shouldQuit: (input: Terminal.UserInput) => boolean) =>
  Effect.map(NodeTerminal.make(shouldQuit), (terminal) =>
    Terminal.make({
      ...terminal,
      columns: Effect.sync(() => process.stderr.columns),
      display: (text) => Effect.callback((resume) => void process.stderr.write(text, () => resume(Effect.void)))
    })
  )

/** On a terminal. A key that ends the question ends the command, too. */
export const ask = Effect.fnUntraced(function* <A>(prompt: Prompt.Prompt<A>, without: string) {
  if (!(process.stdin.isTTY && process.stderr.isTTY)) return yield* usage(without)
  let isInterrupted = false
  const terminal = yield* terminalWith(({ key }) => {
    isInterrupted = key.ctrl && key.name === "c"
    return isInterrupted || key.name === "escape" || (key.ctrl && key.name === "d")
  })
  return yield* Prompt.run(prompt).pipe(
    Effect.provideService(Terminal.Terminal, terminal),
    Effect.catchIf(Terminal.isQuitError, () => {
      const exit = isInterrupted ? exitCodes.interrupted : exitCodes.refused
      return new Failure({ exit, title: "Nothing was changed" })
    })
  )
}, Effect.scoped)

/** Succeeds only if the user confirms. */
export const confirm = Effect.fnUntraced(function* (isConfirmed: boolean, question: string) {
  if (isConfirmed) return
  const prompt = Prompt.Confirm({ message: question, placeholder: { defaultDeny: "[y/N]" } })
  const isMeant = yield* ask(prompt, "this cannot be undone; without a terminal it requires --yes")
  if (!isMeant) return yield* refused("Nothing was changed")
})

/** The facts that are known when a command speaks to the server. */
export interface At<N extends EndpointName, C extends Config> extends Found<N> {
  readonly connection: Call.Connection
  readonly more: Infer<C>
  /** The flags as given. */
  readonly given: Given
  /** Sends the request with other fields. */
  readonly send: (change: Partial<Request<N>>) => Effect.Effect<Answer<N>, Failure, HttpClient.HttpClient>
}

/** How a command differs from its endpoint. `C`: further flags. `B`: what is shown beside the answer. */
interface Spec<N extends EndpointName, C extends Config, B> extends Partial<Texts>, InputOptions {
  readonly more?: C
  /** Changes the JSON of the request, before it is checked. */
  readonly prepare?: (raw: Raw, more: Infer<C>) => Effect.Effect<Raw, Failure>
  /** Changes the request that is sent. */
  readonly amend?: (
    request: Request<N>,
    connection: Call.Connection
  ) => Effect.Effect<Request<N>, Failure, HttpClient.HttpClient>
  /** Asks for a confirmation; `undefined`: none is needed. */
  readonly ask?: (at: At<N, C>) => string | Effect.Effect<string | undefined, Failure, HttpClient.HttpClient>
  /** The answer is a failure of the command. */
  readonly refuse?: (answer: Answer<N>) => Failure | undefined
  /** More of the answer. */
  readonly also?: (answer: Answer<N>, at: At<N, C>) => object
  /** The part of the answer's JSON that `--json` prints. */
  readonly json?: (json: unknown) => unknown
  /** Read only for the text. */
  readonly beside?: (
    client: Client,
    answer: Answer<N>,
    at: At<N, C>
  ) => Effect.Effect<B, unknown, HttpClient.HttpClient>
  readonly text: (answer: Answer<N>, at: At<N, C>, beside: B) => string
  /** After the answer was printed. */
  readonly after?: (answer: Answer<N>, at: At<N, C>) => Effect.Effect<void, Failure, HttpClient.HttpClient>
}

/** The command for an endpoint. */
export const derived = <N extends EndpointName, C extends Config = None, B = undefined>(
  name: string,
  endpoint: N,
  spec: Spec<N, C, B>
): Leaf => {
  const input = inputOf(endpoint, rules, spec)
  const texts: Texts = { about: input.endpoint.summary, details: input.endpoint.details, ...spec }
  const config = { words: input.config, ...(spec.ask && { yes }), more: spec.more ?? {} } satisfies Config

  const run = Effect.fnUntraced(function* (given: Infer<typeof config>, connection: Call.Connection) {
    const more = given.more as Infer<C>
    const words = given.words as Readonly<Record<string, ReadonlyArray<string>>>
    const prepare = (raw: Raw) => spec.prepare?.(raw, more) ?? Effect.succeed(raw)
    const { found, notFound, ...parsed } = yield* input.read(words, connection, prepare)
    if (input.endpoint.isEdit && Object.keys(parsed.request.payload as object).length === 0) {
      return yield* usage("nothing to change; see the options with --help")
    }
    const request = yield* spec.amend?.(parsed.request, connection) ?? Effect.succeed(parsed.request)
    const send = (change: Partial<Request<N>>) => Call.send(connection, endpoint, { ...request, ...change }, notFound)
    const at: At<N, C> = {
      ...{ found, notFound, request, connection, more },
      given: (flag) => words[flag] ?? [],
      send: (change) => Effect.map(send(change), ({ answer }) => answer)
    }
    if (spec.ask && !given.yes) {
      const question = spec.ask(at)
      const text = typeof question === "string" ? question : yield* question
      if (text !== undefined) yield* confirm(false, text)
    }
    const sent = yield* send({})
    const failure = spec.refuse?.(sent.answer)
    if (failure !== undefined) return yield* failure
    const also = spec.also?.(sent.answer, at)
    if (connection.json) {
      const json = also === undefined ? sent.json : Object.assign({}, sent.json, also)
      if (json !== undefined) yield* printJson(spec.json?.(json) ?? json)
    } else {
      const beside = spec.beside && (yield* connection.call((client) => spec.beside!(client, sent.answer, at)))
      yield* print(spec.text(Object.assign(sent.answer ?? {}, also) as Answer<N>, at, beside as B))
    }
    yield* spec.after?.(sent.answer, at) ?? Effect.void
  })
  return connected(name, texts, config, (given, connection) =>
    Effect.mapError(run(given as Infer<typeof config>, connection), byFlag(input.labelOf))
  )
}

/** Faults that the server finds in fields are reported by the flags that set them. */
const byFlag =
  (labelOf: (pointer: string) => string) =>
  (failure: Failure): Failure =>
    new Failure({
      ...failure,
      ...(failure.faults && {
        faults: failure.faults.map(({ detail, pointer }) => ({ pointer: labelOf(pointer), detail }))
      })
    })
