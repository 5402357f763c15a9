/** One real agent, led by its preset: what it answers, fails with, remembers, shows and may do, and how it is cancelled. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect, Option, Queue, Result } from "effect"
import { Bus, type PromptThread, type Reply } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { makeRunId, RunId, ThreadId } from "../../src/domain/Id.ts"
import type { AgentRequest } from "../../src/domain/run/AgentRequest.ts"
import type { Progress } from "../../src/domain/run/Progress.ts"
import { toSteps } from "../../src/domain/run/Step.ts"
import { TeamName } from "../../src/domain/Team.ts"
import * as AgentLeader from "../../src/leader/AgentLeader.ts"
import type { Agent } from "../../src/leader/agents/Agent.ts"
import { presets } from "../../src/leader/agents/Presets.ts"
import { placed } from "../../src/server/leaders/WorkspaceWords.ts"
import { exec } from "../support/Process.ts"
import type { FakeModel } from "./FakeModel.ts"
import type { RealAgent } from "./RealAgents.ts"

const team = TeamName.make("agents")

const expected = (isMet: boolean, what: string, got: unknown) => {
  if (!isMet) throw new Error(`${what}: ${JSON.stringify(got)}`)
}

/** The agent, which also keeps what it shows of its work. */
const observed = (agent: Agent) => {
  const shown: Array<Progress> = []
  const answer: Agent["answer"] = (task) =>
    agent.answer({
      ...task,
      progress: (progress) => {
        shown.push(progress)
        task.progress(progress)
      }
    })
  return {
    agent: { ...agent, answer },
    takeShown: () => {
      const pieces = shown.splice(0)
      return {
        text: pieces.map(({ text = "" }) => text).join(""),
        activities: pieces.flatMap((piece) => piece.activity ?? []),
        steps: toSteps(pieces.flatMap(({ steps = [] }) => steps))
      }
    }
  }
}

/** Sends prompts to a leader of the agent. */
const leading = (
  agent: Agent,
  folder: string,
  where: Pick<AgentLeader.AgentLeaderOptions, "workspace" | "workspaces"> = {}
) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const replies = yield* Queue.unbounded<Reply>()
    yield* bus.consume((received) => Effect.asVoid(Queue.offerAll(replies, received)), {
      correlation: { subjectOf: (correlation_id) => ({ run_id: RunId.make(correlation_id) }) }
    })
    yield* AgentLeader.start({ team, agent, folder, ...where })
    const publish = (prompt: string, thread?: PromptThread, agent?: AgentRequest) =>
      Effect.tap(makeRunId, (run_id) =>
        bus.publish({
          ...{ run_id, correlation_id: run_id, source: "chat", team, prompt },
          ...(thread && { thread }),
          ...(agent && { agent })
        })
      )
    const until = (tags: ReadonlyArray<Reply["_tag"]>) =>
      Effect.repeat(Queue.take(replies), { until: ({ _tag }: Reply) => tags.includes(_tag) })
    const end = until(["Answered", "Failed"])
    const send = (prompt: string, thread?: PromptThread, agent?: AgentRequest) =>
      Effect.andThen(publish(prompt, thread, agent), end)
    return { send, publish, end, started: until(["Started"]), cancel: (run: RunId) => bus.cancel(team, run) }
  })

const reportOf = (reply: Reply) => ("report" in reply ? reply.report : undefined) ?? {}

/** Puts the programs in a folder of its own; if `record`ed, with a copy of what they print. */
const findable = (folder: string, programs: RealAgent["programs"], modules: string, isRecorded: boolean) => {
  const [bin, output] = [join(folder, "bin"), join(folder, "output")]
  mkdirSync(bin, { recursive: true })
  for (const [name, path] of Object.entries(programs)) {
    const program = resolve(modules, "node_modules", path)
    const script = `#!/bin/bash\nexec '${program}' "$@" > >(trap '' INT; tee '${output}')\n`
    if (isRecorded) writeFileSync(join(bin, name), script, { mode: 0o755 })
    else symlinkSync(program, join(bin, name))
  }
  return { bin, printed: () => readFileSync(output, "utf8") }
}

export interface Trial {
  readonly real: RealAgent
  readonly model: FakeModel
  /** The folder of the installed packages. */
  readonly modules: string
  /** For all of its files. */
  readonly folder: string
  /** Keeps what the program printed. */
  readonly record?: (what: string, printed: string) => void
}

/** The agent may not use its shell, and says so. */
const tryDenied = (agent: Agent, folder: string) =>
  Effect.gen(function* () {
    const { send } = yield* leading(agent, folder)
    const denied = yield* send("[[tool]]")
    expected(reportOf(denied).denied?.length === 1, "a permission that was denied", denied)
    return reportOf(denied).denied
  }).pipe(Effect.scoped, Effect.provide(BusMemory.layer))

/** It goes on in its thread's copy of a repository, where it finds its session again, and what it changes there is counted. */
const tryWorkspace = (agent: Agent, folder: string, work: string, waits: boolean) =>
  Effect.gen(function* () {
    const source = join(folder, "repository")
    cpSync(work, source, { recursive: true })
    yield* Effect.promise(() =>
      exec("sh", [
        "-c",
        'cd "$1" && rm -f done.txt && git init -q && git add --all && git -c user.name=A -c user.email=a@b.example commit -q --allow-empty -m First',
        ...["sh", source]
      ])
    )
    const { workspace } = Result.getOrThrow(placed([`--workspace=git:${source}`], () => Result.succeed(agent)))
    const { send } = yield* leading(agent, work, {
      workspace: Option.getOrThrow(workspace),
      workspaces: join(folder, "workspaces")
    })
    const thread = { id: ThreadId.make("01890a5d-ac96-774b-bcce-b302099a8060") }
    const answered = yield* send("Remember: the word is heron.", thread)
    const { session_id, session_usage } = reportOf(answered)
    expected(session_id !== undefined, "a session in a copy of a repository", answered)
    if (waits) yield* Effect.sleep("1 minute")
    const continued = { ...thread, session_id: session_id!, ...(session_usage && { session_usage }) }
    const resumed = yield* send("[[recall]]", continued)
    expected(resumed._tag === "Answered" && resumed.response === "The word is heron.", "the session there", resumed)
    const changed = yield* send("[[tool]]", thread)
    const { workspace: report } = reportOf(changed)
    expected(report?.files === 1 && report.insertions === 1 && report.base === report.head, "the changes", changed)
  }).pipe(Effect.scoped, Effect.provide(BusMemory.layer))

/**
 * The agent uses its tools: it shows what it does, links a result and asks. The reply continues its session, also if it went on
 * and was stopped.
 */
const tryTools = (agent: Agent, folder: string, pause: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const { agent: watched, takeShown } = observed(agent)
    const { send } = yield* leading(watched, folder)
    const thread = { id: ThreadId.make("01890a5d-ac96-774b-bcce-b302099a8059") }
    return yield* Effect.forEach(["[[ask]]", "[[ask on]]"], (ask) =>
      Effect.gen(function* () {
        const asking = yield* send(`Remember: the word is heron. ${ask}`, thread)
        const { asks, links, session_id, session_usage, usage } = reportOf(asking)
        expected(asking._tag === "Answered" && asking.response === "Which branch?", "the question", asking)
        expected(asks?.join() === "main,next" && links?.[0]?.title === "The draft", "the link", asking)
        expected(takeShown().activities.join() === "Looking at the branches", "the progress", asking)
        yield* pause
        const reply = yield* send("[[recall]]", {
          ...{ ...thread, session_id: session_id! },
          ...(session_usage && { session_usage })
        })
        expected(reply._tag === "Answered" && reply.response === "The word is heron.", "the answer to a reply", reply)
        expected(reportOf(reply).session_lost === undefined, "the session of the question", reply)
        return usage
      })
    )
  }).pipe(Effect.scoped, Effect.provide(BusMemory.layer))

export const tryAgent = ({ folder, model, modules, real, record }: Trial) =>
  Effect.gen(function* () {
    const [home, work] = [join(folder, "home"), join(folder, "work")]
    for (const each of [home, work]) mkdirSync(each, { recursive: true })
    real.prepare?.(model.url, home, work)
    const { bin, printed } = findable(folder, real.programs, modules, record !== undefined)
    const env = { ...real.env(model.url), HOME: home, PATH: `${bin}:${process.env.PATH}` }
    yield* environment(env)
    const agentWith = (options: (model: string) => ReadonlyArray<string>) =>
      Result.getOrThrow(presets[real.preset].agent(options(model.url)))
    const { agent, takeShown } = observed(agentWith(real.allowed))
    const led = yield* leading(agent, work)
    // A run's own paths say nothing.
    const withoutPaths = (text: string) =>
      text
        .replaceAll(folder, "FOLDER")
        .replaceAll(model.url, "MODEL")
        .replace(/\/tmp\/[^" \\]*/g, "FILE")
    const keep = (what: string) => record?.(what, withoutPaths(printed()))

    const untilOld = real.losesYoungSessions ? Effect.sleep("1 minute") : Effect.void
    const thread = { id: ThreadId.make("01890a5d-ac96-774b-bcce-b302099a8059") }
    const answered = yield* led.send("Remember: the word is heron.", thread)
    expected(answered._tag === "Answered" && answered.response === "I did what you asked.", "the answer", answered)
    const { session_id, usage } = reportOf(answered)
    // Claude Code may also ask for a title.
    const requests = usage?.output_tokens === 68 ? 2 : 1
    const input = usage!.input_tokens! / requests
    expected(input === 1400 || input === 1200, "input tokens", usage)
    const cached = real.hidesCache ? undefined : 200 * requests
    expected(usage?.output_tokens === 34 * requests && usage?.cached_input_tokens === cached, "the other tokens", usage)
    expected(session_id !== undefined, "a session", answered)
    const { text } = takeShown()
    expected(text.includes("I did what you asked."), "the text as it grew", text)
    keep("answer")

    yield* untilOld
    const { session_usage: before } = reportOf(answered)
    const resumed = yield* led.send("[[recall]]", {
      ...{ ...thread, session_id: session_id! },
      ...(before && { session_usage: before })
    })
    expected(resumed._tag === "Answered" && resumed.response === "The word is heron.", "the resumed session", resumed)
    expected(reportOf(resumed).session_lost === undefined, "a session that is there", resumed)
    expected(reportOf(resumed).usage?.output_tokens === 34, "the usage of the resumed run alone", resumed)

    if (real.delegates) {
      const { session_usage } = reportOf(resumed)
      const continued = { ...thread, session_id: session_id!, ...(session_usage && { session_usage }) }
      const delegated = yield* led.send("Do it. [[delegate]]", continued)
      expected(
        delegated._tag === "Answered" && delegated.response === "The work is done.",
        "the last result",
        delegated
      )
      // Of the agent and of its subagent.
      expected([102, 136].includes(reportOf(delegated).usage?.output_tokens ?? 0), "the usage of the run", delegated)
      keep("background")
    }

    const unknown = session_id!.replace(/\w{4}$/, "0000")
    const lost = yield* led.send("Do it.", { ...thread, session_id: unknown })
    expected(lost._tag === "Answered" && reportOf(lost).session_lost === true, "a session that is lost", lost)
    expected(reportOf(lost).session_id !== unknown, "another session", lost)

    const history = [{ prompt: "Remember: the word is crane.", response: "Noted." }]
    const elsewhere = yield* led.send("[[recall]]", { ...thread, session_id: unknown, history })
    expected(
      elsewhere._tag === "Answered" && elsewhere.response === "The word is crane.",
      "earlier messages",
      elsewhere
    )
    expected(reportOf(elsewhere).history_given === true, "that it was given the earlier messages", elsewhere)

    const hostile = yield* led.send("--version", { ...thread, session_id: "--version" })
    expected(hostile._tag === "Answered" && reportOf(hostile).session_lost === true, "no option", hostile)

    takeShown()
    yield* led.send("[[tool]]")
    const shown = takeShown()
    expected(shown.activities.length > 0 && shown.text.includes("I did what you asked."), "progress", shown)
    expected(readFileSync(join(work, "done.txt"), "utf8") === "done\n", "the use of a tool", shown)
    const [step] = shown.steps
    const isWhole = step?.kind === "tool" && step.detail === "echo done > done.txt" && step.result_bytes !== undefined
    expected(isWhole && step.status === "ok" && step.duration_ms !== undefined, "the tool call as a step", shown.steps)
    keep("tool")

    if (real.preset === "claude") {
      model.beBusy(4)
      const patient = yield* led.send("[[busy]]")
      expected(patient._tag === "Answered", "an answer of a model that was busy", patient)
      const retries = takeShown().steps.map(({ title }) => title)
      expected(retries[3] === "Retrying: 429 (4 of 10)", "refused requests as steps", retries)
      keep("retry")
    }

    const limited = yield* led.send("[[tool]]", undefined, { max_turns: 1 })
    expected(limited._tag === "Failed" && limited.code === "turns_exceeded", "the limit of turns", limited)
    const enough = yield* led.send("[[tool]]", undefined, { max_turns: 2 })
    expected(enough._tag === "Answered", "a run within the limit of turns", enough)

    const answer_schema = {
      ...{ type: "object", properties: { verdict: { type: "string" } } },
      ...{ required: ["verdict"], additionalProperties: false }
    }
    const shaped = yield* led.send("[[shape]]", undefined, { answer_schema })
    expected(shaped._tag === "Answered" && shaped.response === '{"verdict":"heron"}', "an answer with a shape", shaped)

    if (real.preset === "claude" || real.preset === "opencode") {
      const spent = yield* led.send("[[tool]]", undefined, { max_cost: 0.001 })
      expected(spent._tag === "Failed" && spent.code === "cost_exceeded", "the limit of cost", spent)
      // What the session has used before does not count.
      const { session_usage } = reportOf(resumed)
      const continued = { ...thread, session_id: session_id!, ...(session_usage && { session_usage }) }
      const within = yield* led.send("[[recall]]", continued, { max_cost: 0.01 })
      expected(within._tag === "Answered", "a run within the limit of cost, of a session that has used more", within)
    }

    const failed = yield* led.send("Fail: [[refuse]]")
    expected(failed._tag === "Failed" && failed.message.includes("the model refused"), "the failure", failed)
    keep("failure")

    const hanging = yield* led.publish("Wait: [[hang]]")
    yield* led.started
    yield* Effect.promise(() => model.hanging())
    const from = performance.now()
    yield* led.cancel(hanging)
    const cancelled = yield* led.end
    const cancelledAfter = Math.round(performance.now() - from)
    expected(cancelled._tag === "Failed", "the cancellation", cancelled)
    const denied = real.denied && (yield* tryDenied(agentWith(real.denied), work))
    yield* tryWorkspace(agentWith(real.allowed), folder, work, real.losesYoungSessions === true)
    const tools = yield* tryTools(agentWith(real.allowed), work, untilOld)
    return { usage, session_id, denied, tools, progress: shown.activities, "cancelled after": `${cancelledAfter} ms` }
  })

/** Sets variables of this process, and restores them at the end. */
const environment = (variables: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
      Object.assign(process.env, variables)
      return before
    }),
    (before) =>
      Effect.sync(() => {
        for (const [name, value] of before) {
          if (value === undefined) delete process.env[name]
          else process.env[name] = value
        }
      })
  )
