/** Agents that are programs: what makes an agent of a command line and of the events that it prints. */
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Result } from "effect"
import type { Prompt } from "../../bus/Bus.ts"
import type { AgentReport, SessionUsage } from "../../domain/run/AgentReport.ts"
import type { AgentRequest } from "../../domain/run/AgentRequest.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"
import { LeaderError } from "../Leader.ts"
import { environment } from "../Place.ts"
import { runProgram } from "../Program.ts"
import * as TemporaryFolder from "../TemporaryFolder.ts"
import type { Agent, Preset, Task } from "./Agent.ts"
import { noTools, type Tools, withTools } from "./AgentTools.ts"
import { inWords, refusedSchema, withoutDraft } from "./AnswerSchema.ts"
import { type Bounds, optionsFor, type RequestOptions, readBounds } from "./Bounds.ts"
import { eventLines } from "./output/EventLines.ts"
import type { Events } from "./output/EventReader.ts"
import { limiting } from "./output/Limits.ts"
import * as SessionTotals from "./output/SessionTotals.ts"
import { inSession, SessionLost } from "./Session.ts"

/** The settings that the program is started with. */
interface Invocation {
  /** The operator's, and those for what the webhook asks for. */
  readonly options: ReadonlyArray<string>
  /** The session to continue; absent: it begins one. */
  readonly session?: string
}

/** A program that answers one prompt at a time, and prints what it does as JSON, one event on a line. */
interface AgentProgram extends Pick<Preset, "title" | "example" | "help">, Events {
  /** Its name in `PATH`. */
  readonly program: string
  /** Its arguments. The prompt is on its standard input, never among them. */
  readonly args: (invocation: Invocation) => ReadonlyArray<string>
  /** The text for its standard input. Default: the prompt's text. */
  readonly input?: (prompt: Prompt) => string
  /** A text that ends its work when it is written to its standard input. Default: only signals do. */
  readonly interrupt?: string
  /** How it gets the tools: more options, which precede the operator's, and more variables of its environment. */
  readonly tools: (tools: Tools) => {
    readonly options?: ReadonlyArray<string>
    readonly env?: Readonly<Record<string, string>>
  }
  /** Options that say what it may do. Absent if it never asks for permissions. */
  readonly permissions?: ReadonlyArray<string>
  /** The same of a program that never asks: it need not get any. */
  readonly grants?: ReadonlyArray<string>
  /** Its option for the schema of its answer, and which schemas it takes. `inFile`: the option's value is a file. */
  readonly answerSchema?: {
    readonly option: string
    readonly inFile?: boolean
    readonly takes: (schema: JsonObject) => boolean
  }
  readonly requests: RequestOptions
  /** The whole usage of a session, from its own files: for a run that is stopped before it reports that. */
  readonly totalsOf?: (
    session: string,
    environment: Readonly<Record<string, string | undefined>>
  ) => SessionUsage | undefined
  readonly sessions: {
    /** The ids that it gives its sessions. */
    readonly format: RegExp
    /** How it fails if it does not have the session. */
    readonly lost: RegExp
  }
}

/** Agents stop at Ctrl-C, as in a terminal. Some ignore it, and nobody waits for them. */
const stop = { signal: "SIGINT", grace: "1 second" } as const

const isGiven = (options: ReadonlyArray<string>, names: ReadonlyArray<string>): boolean =>
  options.some((option) => names.includes(option.split("=", 1)[0]!))

/** The preset for the program. */
export const programPreset = (its: AgentProgram): Preset => ({
  title: its.title,
  example: its.example,
  help: its.help,
  agent: (words) =>
    Result.flatMap(readBounds(words.filter((word) => word !== noTools)), ({ bounds, options }) => {
      const fault = permissionFault(its, options, bounds)
      const hasTools = !words.includes(noTools)
      return fault === undefined ? Result.succeed(programAgent(its, options, bounds, hasTools)) : Result.fail(fault)
    })
})

/** The options for the schema; a file lives as long as the scope. */
const schemaOptions = ({ inFile, option }: NonNullable<AgentProgram["answerSchema"]>, schema: JsonObject) => {
  const text = JSON.stringify(withoutDraft(schema))
  if (!inFile) return Effect.succeed([option, text])
  return Effect.map(TemporaryFolder.make("webhook-schema-"), (folder) => {
    const file = join(folder, "schema.json")
    // The program may run as another user.
    writeFileSync(file, text, { flag: "wx", mode: 0o644 })
    chmodSync(folder, 0o711)
    return [option, file]
  }).pipe(Effect.orDie)
}

/**
 * The work with the options for the schema of the task's answer, if the program takes it. If its model refuses the schema, the
 * schema is named in the prompt.
 */
const withSchema = <A>(
  { answerSchema }: AgentProgram,
  task: Task,
  work: (task: Task, options: ReadonlyArray<string>) => Effect.Effect<A, LeaderError>
): Effect.Effect<A, LeaderError> => {
  const schema = task.prompt.agent?.answer_schema
  if (schema === undefined || !answerSchema?.takes(schema)) return work(task, [])
  const { prompt } = task
  return Effect.scoped(Effect.flatMap(schemaOptions(answerSchema, schema), (options) => work(task, options))).pipe(
    Effect.catchIf(
      ({ message, report }) => refusedSchema.test(message) && !report?.usage?.output_tokens,
      () => work({ ...task, said: prompt.prompt, prompt: { ...prompt, prompt: prompt.prompt + inWords(schema) } }, [])
    )
  )
}

/** Each of the operator's profiles grants all permissions of its runs, so that none of another way are added to them. */
const permissionFault = (
  { example, grants = [], permissions, title }: AgentProgram,
  options: ReadonlyArray<string>,
  bounds: Bounds
): string | undefined => {
  const its = permissions ?? grants
  const [isPlain, hasProfiles] = [isGiven(options, its), bounds.permissions.size > 0]
  if (isPlain && hasProfiles) return `with --permissions, give ${its.join(", ")} only in them`
  if (permissions === undefined) return undefined
  const missing = [...bounds.permissions].find(([, profile]) => !isGiven(profile, permissions))
  if (missing) return `--permissions ${missing[0]} needs one of ${permissions.join(", ")}`
  return isPlain || hasProfiles
    ? undefined
    : `nobody can grant ${title} permissions while it works. Say what it may do with ${permissions.join(", ")}; for example: ${example}`
}

const programAgent = (its: AgentProgram, words: ReadonlyArray<string>, bounds: Bounds, hasTools: boolean): Agent => {
  const { answerSchema, interrupt, program, sessions, title } = its
  const totals = SessionTotals.make()
  const run = (task: Task, own: ReadonlyArray<string>, session?: string, given?: Tools) => {
    const { place, prompt } = task
    const tools = given === undefined ? {} : its.tools(given)
    const options = [...(tools.options ?? []), ...own]
    const before = totals.before(session, prompt)
    const events = limiting(totals.counting(its, before), countedLimits(its, prompt.agent))
    const env = { ...environment(prompt, place), ...tools.env }
    let session_id = session
    const report: Task["report"] = (known) => {
      session_id = known.session_id ?? session_id
      task.report(known)
    }
    /** Otherwise, what it used would count as the session's next run's. */
    const spent = (): AgentReport => {
      const used = session_id === undefined ? undefined : its.totalsOf?.(session_id, env)
      return used === undefined
        ? {}
        : (totals.counted({ totals: used, report: { session_id: session_id! } }, before).report ?? {})
    }
    const isLost = ({ message, report }: LeaderError) =>
      session !== undefined && sessions.lost.test(message) && !report?.usage?.output_tokens
    const work = runProgram(
      {
        ...place,
        command: program,
        args: its.args({ options, ...(session !== undefined && { session }) }),
        input: its.input?.(prompt) ?? prompt.prompt,
        env,
        stop,
        ...(interrupt !== undefined && { interrupt })
      },
      eventLines(events, { ...task, report }, `${title} ended without a result (status 0)`)
    )
    return work.pipe(
      Effect.onInterrupt(() => Effect.sync(() => task.report(spent()))),
      Effect.mapError((error) => {
        if (isLost(error)) return new SessionLost()
        if (error.report?.usage !== undefined) return error
        const { code, limited, message, response } = error
        return new LeaderError({
          message,
          report: { ...error.report, ...spent() },
          ...(limited && { limited }),
          ...(code && { code }),
          ...(response !== undefined && { response })
        })
      })
    )
  }
  return {
    title,
    program,
    ...(answerSchema && { takesSchema: answerSchema.takes }),
    answer: (task) =>
      Effect.flatMap(
        Effect.mapError(
          Effect.fromResult(optionsFor(task.prompt.agent ?? {}, words, bounds, its.requests)),
          (fault) => new LeaderError({ message: `${title} was not started: ${fault}` })
        ),
        (options) =>
          withSchema(its, task, (task, more) =>
            inSession(sessions.format, task, (task, session) => {
              const work = (tools?: Tools) => run(task, [...options, ...more], session, tools)
              return hasTools ? withTools(task, work) : work()
            })
          )
      )
  }
}

/** The limits that the program does not keep itself. */
const countedLimits = ({ requests }: AgentProgram, { max_cost, max_turns }: AgentRequest = {}): AgentRequest => ({
  ...(max_turns !== undefined && requests.max_turns === undefined && { max_turns }),
  ...(max_cost !== undefined && requests.max_cost === undefined && { max_cost })
})
