/** An agent as a team's leader: a program, or an endpoint. */
import { accessSync, constants, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { Clock, Duration, Effect, Exit, Option, Schema, type Scope } from "effect"
import type { LeaderBus, Prompt } from "../bus/Bus.ts"
import type { Progress } from "../domain/run/Progress.ts"
import type { StepReport } from "../domain/run/Step.ts"
import type { TeamName } from "../domain/Team.ts"
import * as Scrub from "../runtime/Scrub.ts"
import * as TraceContext from "../telemetry/TraceContext.ts"
import type { Agent, Task } from "./agents/Agent.ts"
import * as Leader from "./Leader.ts"
import { type Place, secretsIn } from "./Place.ts"
import * as Shape from "./Shape.ts"
import { unlessStalled } from "./Stall.ts"
import * as TemporaryFolder from "./TemporaryFolder.ts"
import type { LeaderWork } from "./Work.ts"
import * as Files from "./workspace/Files.ts"
import * as Workspace from "./workspace/Workspace.ts"

export interface AgentLeaderOptions extends Place {
  readonly team: TeamName
  readonly agent: Agent
  /** Time limit for one prompt. Then the agent is stopped. Default: no limit. */
  readonly timeout?: Duration.Input
  /** How long the agent may show nothing. Then it is stopped, and the run ends as `error`, code `agent_stalled`. Default: no limit. */
  readonly stallTimeout?: Duration.Input
  /** How long the agent may continue after the leader is stopped. Default: 10 seconds. */
  readonly grace?: Leader.Grace
  /** Where its program works, one prompt at a time. Default: in `folder`, which is not locked. */
  readonly workspace?: Workspace.WorkspaceOptions
  /** The folder with what workspaces need. Default: `.workspaces` in that of this process. */
  readonly workspaces?: string
}

export class ProgramMissing extends Schema.TaggedError<ProgramMissing>()("ProgramMissing", {
  command: Schema.String
}) {
  override get message() {
    return `Cannot run "${this.command}": not found or not executable. Use a path or a name in PATH.`
  }
}

/**
 * Leads the team with the agent until the scope closes.
 *
 * Then it accepts no further prompts. A prompt in work may be finished within the grace period, and its answer is sent.
 * Otherwise the agent is stopped, and the prompt is redelivered first.
 */
export const start = (options: AgentLeaderOptions): Effect.Effect<void, ProgramMissing, LeaderBus | Scope.Scope> =>
  Effect.andThen(checkProgram(options.agent), lead(options))

/** Leads the team with the agent until interrupted, for example by SIGTERM. */
export const run = (options: AgentLeaderOptions): Effect.Effect<never, ProgramMissing, LeaderBus> =>
  Effect.scoped(Effect.andThen(start(options), Effect.never))

/** Fails if the agent's program cannot be run. `start` calls it first. */
export const checkProgram = ({ program }: Pick<Agent, "program">): Effect.Effect<void, ProgramMissing> =>
  program === undefined || canRun(program) ? Effect.void : new ProgramMissing({ command: program })

const lead = (given: AgentLeaderOptions) =>
  Effect.gen(function* () {
    const url = given.workspace !== undefined && "url" in given.workspace ? given.workspace.url : undefined
    const options = { ...given, scrub: Scrub.makeWhole(secretsIn(given, url)) }
    const { grace = "10 seconds", team } = options
    yield* TemporaryFolder.removeLeft
    const workspace = yield* Workspace.make(options)
    let atWork: Prompt | undefined
    const workOn = <A, E>(prompt: Prompt, work: Effect.Effect<A, E>) =>
      Effect.acquireUseRelease(
        Effect.sync(() => (atWork = prompt)),
        () => work,
        () => Effect.sync(() => (atWork = undefined))
      )
    yield* Leader.start({
      ...{ team, grace },
      handler: (prompt, work) =>
        workOn(prompt, logged(prompt, inTime(options, answer(options, workspace, prompt, work))))
    })
    yield* Effect.addFinalizer(() => {
      if (atWork === undefined) return Effect.void
      const limit = Duration.format(Leader.decodeGrace(grace))
      return Effect.logInfo(
        `Stopping: up to ${limit} for run ${atWork.run_id} of the team ${team}; then its agent is stopped, and the prompt sent again. No other prompt is taken. A second signal ends this at once`
      )
    })
  })

/** Longer texts are cut, far behind what is kept of them. */
const mostScrubbed = 8_000

/** Without known secrets in what is kept. */
const scrubbed = ({ activity, steps, ...rest }: Progress, scrub: (text: string) => string): Progress => ({
  ...rest,
  ...(activity !== undefined && { activity: scrub(activity) }),
  ...(steps && {
    steps: steps.map(
      (step) =>
        Object.fromEntries(
          Object.entries(step).map(([name, value]) => [
            name,
            typeof value === "string" ? scrub(value.slice(0, mostScrubbed)) : value
          ])
        ) as StepReport
    )
  })
})

const answer = (
  options: AgentLeaderOptions & { readonly scrub: (text: string) => string },
  workspace: Workspace.Workspace | undefined,
  prompt: Prompt,
  work: LeaderWork
) =>
  Effect.withFiber<Leader.LeaderAnswer, Leader.LeaderError>((fiber) => {
    const traceparent = TraceContext.ofFiber(fiber) ?? prompt.traceparent
    const run = Effect.runSyncWith(fiber.context)
    const task: Task = {
      prompt: { ...prompt, ...(traceparent !== undefined && { traceparent }) },
      place: options,
      progress: (progress) => run(work.progress(scrubbed(progress, options.scrub))),
      report: (report) => run(work.report(report))
    }
    const answerIn = (place: Place) => {
      // Endpoints work in no folder.
      const { folder: _, ...nowhere } = place
      const there = { ...task, place: options.agent.program === undefined ? nowhere : place }
      return Files.during(there, work, (task) =>
        unlessStalled(options.stallTimeout, options.agent.title, task, (task) => Shape.answer(options.agent, task))
      )
    }
    return workspace === undefined ? answerIn(options) : workspace.use(task, answerIn)
  })

const inTime = <A>(
  { agent, timeout }: AgentLeaderOptions,
  work: Effect.Effect<A, Leader.LeaderError>
): Effect.Effect<A, Leader.LeaderError> => {
  if (timeout === undefined) return work
  const limit = Duration.fromInputUnsafe(timeout)
  const message = `${agent.title} did not finish within ${Duration.format(limit)}`
  return Effect.flatMap(
    Effect.timeoutOption(work, limit),
    Option.match({ onSome: Effect.succeed, onNone: () => new Leader.LeaderError({ message }) })
  )
}

/** Logs one line per prompt, without the prompt or the answer, which are confidential. */
const logged = <A, E>(prompt: Prompt, work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
    Effect.onExit(work, (exit) =>
      Effect.flatMap(Clock.currentTimeMillis, (endedAt) =>
        Effect.annotateLogs(Effect.logInfo("Prompt finished"), {
          run_id: prompt.run_id,
          outcome: Exit.isSuccess(exit) ? "answered" : Exit.hasInterrupts(exit) ? "interrupted" : "failed",
          duration_ms: endedAt - startedAt
        })
      )
    )
  )

/** Whether a command, a path or a name in `PATH`, is a program that can be started. */
export const canRun = (command: string): boolean => {
  const folders = command.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter)
  return folders.some((folder) => {
    const path = isAbsolute(command) || folder === "" ? command : join(folder, command)
    try {
      accessSync(path, constants.X_OK)
      const { mode } = statSync(path)
      // For root, access alone may allow any file.
      return (mode & constants.S_IFMT) === constants.S_IFREG && (mode & 0o111) !== 0
    } catch {
      return false
    }
  })
}
