/** Agents that are programs: what makes an agent of a command line and of the events that it prints. */
import { randomUUID } from "node:crypto"
import { rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Either } from "effect"
import type { Prompt } from "../../bus/Bus.ts"
import type { AgentRequest } from "../../domain/run/AgentRequest.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"
import type { LeaderError } from "../Leader.ts"
import { environment } from "../Place.ts"
import { runProgram } from "../Program.ts"
import type { Agent, Preset, Task } from "./Agent.ts"
import { withoutDraft } from "./AnswerSchema.ts"
import { eventLines } from "./output/EventLines.ts"
import type { Events } from "./output/EventReader.ts"
import * as SessionTotals from "./output/SessionTotals.ts"
import { inSession, SessionLost } from "./Session.ts"

/** What the program is started with. */
export interface Invocation {
  /** The operator's. */
  readonly options: ReadonlyArray<string>
  /** The session to continue; absent: it begins one. */
  readonly session?: string
  /** What the webhook asks for, as far as the leader allows it. */
  readonly agent: AgentRequest
}

/** A program that answers one prompt at a time, and prints what it does as JSON, one event on a line. */
export interface AgentProgram extends Pick<Preset, "title" | "example" | "help">, Events {
  /** Its name in `PATH`. */
  readonly program: string
  /** Its arguments. The prompt is on its standard input, never among them. */
  readonly args: (invocation: Invocation) => ReadonlyArray<string>
  /** What its standard input gets. Default: the prompt's text. */
  readonly input?: (prompt: Prompt) => string
  /** What ends its work when it is written to its standard input. Default: only signals do. */
  readonly interrupt?: string
  /** Options that say what it may do. Absent if it never asks for permissions. */
  readonly permissions?: ReadonlyArray<string>
  /** Its option for the schema of its answer, and which schemas it takes. `inFile`: the option's value is a file. */
  readonly answerSchema?: {
    readonly option: string
    readonly inFile?: boolean
    readonly takes: (schema: JsonObject) => boolean
  }
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
  agent: (options) =>
    its.permissions === undefined || isGiven(options, its.permissions)
      ? Either.right(programAgent(its, options))
      : Either.left(
          `nobody can grant ${its.title} permissions while it works. Say what it may do with ${its.permissions.join(", ")}; for example: ${its.example}`
        )
})

/** The options for the schema; a file lives as long as the scope. */
const schemaOptions = ({ inFile, option }: NonNullable<AgentProgram["answerSchema"]>, schema: JsonObject) => {
  const text = JSON.stringify(withoutDraft(schema))
  if (!inFile) return Effect.succeed([option, text])
  const file = join(tmpdir(), `answer-schema-${randomUUID()}.json`)
  return Effect.acquireRelease(
    Effect.sync(() => {
      // The program may run as another user.
      writeFileSync(file, text, { flag: "wx", mode: 0o644 })
      return [option, file]
    }),
    () => Effect.sync(() => rmSync(file, { force: true }))
  )
}

const programAgent = (its: AgentProgram, options: ReadonlyArray<string>): Agent => {
  const { answerSchema, interrupt, program, sessions, title } = its
  const totals = SessionTotals.make()
  const run = (task: Task, session?: string) => {
    const { place, prompt } = task
    const events = totals.counting(its, totals.before(session, prompt))
    const isLost = ({ message, report }: LeaderError) =>
      session !== undefined && sessions.lost.test(message) && !report?.usage?.output_tokens
    const runWith = (options: ReadonlyArray<string>) =>
      runProgram(
        {
          ...place,
          command: program,
          args: its.args({ options, agent: prompt.agent ?? {}, ...(session !== undefined && { session }) }),
          input: its.input?.(prompt) ?? prompt.prompt,
          env: environment(prompt, place),
          stop,
          ...(interrupt !== undefined && { interrupt })
        },
        eventLines(events, task, `${title} ended without a result (status 0)`)
      )
    const schema = prompt.agent?.answer_schema
    const work =
      schema !== undefined && answerSchema?.takes(schema)
        ? Effect.scoped(Effect.flatMap(schemaOptions(answerSchema, schema), (more) => runWith([...options, ...more])))
        : runWith(options)
    return Effect.mapError(work, (error) => (isLost(error) ? new SessionLost() : error))
  }
  return {
    title,
    program,
    ...(answerSchema && { takesSchema: answerSchema.takes }),
    answer: (task) => inSession(sessions.format, task, run)
  }
}
