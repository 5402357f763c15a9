/**
 * Runs the presets with the real agent programs on a fake model: an answer, a failure and a cancellation of each.
 *
 * `npm run test:agents` installs the programs into a temporary folder, on Linux. `-- --write` also records what they
 * print, which `npm test` replays. `-- --installed FOLDER` takes programs that are installed already.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Effect, Fiber, Logger, LogLevel, Queue } from "effect"
import { Bus, type Reply } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { type AgentName, agentNames } from "../../src/domain/AgentName.ts"
import { makeRunId, RunId } from "../../src/domain/Id.ts"
import { TeamName } from "../../src/domain/Team.ts"
import type { Agent } from "../../src/leader/agents/Agent.ts"
import { agents } from "../../src/leader/agents/Agents.ts"
import * as Command from "../../src/leader/Command.ts"
import { exec } from "../support/Process.ts"
import { type FakeModel, startFakeModel } from "./FakeModel.ts"
import { realAgents } from "./RealAgents.ts"

const { values: options } = parseArgs({ options: { write: { type: "boolean" }, installed: { type: "string" } } })
const recorded = fileURLToPath(new URL("recorded/", import.meta.url))

const install = async (folder: string) => {
  const packages = agentNames.map((name) => realAgents[name].install)
  console.log(`installing ${packages.join(" ")}`)
  await exec("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", ...packages])
  return folder
}

const team = TeamName.make("agents")

/** The preset, which also keeps the events that it reads. */
const recording = (agent: Agent) => {
  const events: Array<string> = []
  const read: Agent["read"] = (work, event) => {
    events.push(JSON.stringify(event))
    return agent.read(work, event)
  }
  return { events, agent: { ...agent, read } }
}

const expected = (isMet: boolean, what: string, got: unknown) => {
  if (!isMet) throw new Error(`${what}: ${JSON.stringify(got)}`)
}

const tryAgent = (name: AgentName, model: FakeModel, modules: string, folder: string) =>
  Effect.gen(function* () {
    const real = realAgents[name]
    const home = join(folder, "home")
    const work = join(folder, "work")
    for (const each of [home, work]) mkdirSync(each, { recursive: true })
    real.prepare?.(model.url, home, work)
    for (const [variable, value] of Object.entries({ ...real.env(model.url), HOME: home }))
      process.env[variable] = value
    const { agent, events } = recording(agents[name])
    const bus = yield* Bus
    const replies = yield* Queue.unbounded<Reply>()
    yield* bus.consume((received) => Effect.asVoid(Queue.offerAll(replies, received)), {
      correlation: { subjectOf: (correlation_id) => ({ run_id: RunId.make(correlation_id) }) }
    })
    const command = join(modules, "node_modules", real.program)
    yield* Command.start({ team, command, args: real.options(model.url), output: agent, folder: work })

    const take = Effect.repeat(Queue.take(replies), { until: ({ _tag }: Reply) => _tag !== "Started" })
    const send = (prompt: string) =>
      Effect.tap(makeRunId, (run_id) => bus.publish([{ run_id, correlation_id: run_id, source: "chat", team, prompt }]))
    const record = (what: string) =>
      Effect.sync(() => {
        const file = join(recorded, name, `${what}.jsonl`)
        mkdirSync(dirname(file), { recursive: true })
        // A run's own paths and tokens say nothing.
        const lines = events.splice(0).map((line) => line.replaceAll(folder, "FOLDER").replaceAll(model.url, "MODEL"))
        if (options.write) writeFileSync(file, `${lines.join("\n")}\n`)
      })

    yield* send("Do what I ask.")
    const answered = yield* take
    expected(answered._tag === "Answered" && answered.response === "I did what you asked.", "the answer", answered)
    const { usage, session_id } = (answered as { report?: { usage?: any; session_id?: string } }).report ?? {}
    expected(usage?.input_tokens === 1400 || usage?.input_tokens === 1200, "input tokens", usage)
    expected(usage?.output_tokens === 34 && usage?.cached_input_tokens === 200, "the other tokens", usage)
    expected(session_id !== undefined, "a session", answered)
    yield* record("answer")

    yield* send("Fail: [[refuse]]")
    const failed = yield* take
    expected(failed._tag === "Failed" && failed.message.includes("the model refused"), "the failure", failed)
    yield* record("failure")

    const hanging = yield* send("Wait: [[hang]]")
    yield* Effect.repeat(Queue.take(replies), { until: ({ _tag }: Reply) => _tag === "Started" })
    yield* Effect.promise(() => model.hanging())
    const from = performance.now()
    yield* bus.cancel(team, hanging)
    const cancelled = yield* take
    expected(cancelled._tag === "Failed", "the cancellation", cancelled)
    events.splice(0)
    return { usage, session_id, "cancelled after": `${Math.round(performance.now() - from)} ms` }
  }).pipe(Effect.scoped, Effect.provide(BusMemory.layer), Logger.withMinimumLogLevel(LogLevel.None))

const main = async () => {
  const folder = mkdtempSync(join(tmpdir(), "agents-"))
  const model = await startFakeModel()
  try {
    const modules = options.installed ?? (await install(join(folder, "programs")))
    for (const name of agentNames) {
      const fiber = Effect.runFork(tryAgent(name, model, modules, join(folder, name)))
      const shown = await Effect.runPromise(Effect.timeout(Fiber.join(fiber), "3 minutes"))
      console.log(name, JSON.stringify(shown))
    }
  } finally {
    await model.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

await main()
process.exit(0)
