/** One prompt's conversation with an agent that speaks the Agent Client Protocol on its standard input and output. */
import { resolve } from "node:path"
import { Readable, Writable } from "node:stream"
import type * as Acp from "@agentclientprotocol/sdk"
import { Deferred, Effect, Exit } from "effect"
import { type LeaderAnswer, LeaderError } from "../../Leader.ts"
import { environment } from "../../Place.ts"
import * as ProcessGroup from "../../ProcessGroup.ts"
import type { Task } from "../Agent.ts"
import type { Tools } from "../AgentTools.ts"
import { type EventReader, readEvents } from "../output/EventReader.ts"
import { limiting } from "../output/Limits.ts"
import { at, conclude, textAt, toolServer } from "../output/Reading.ts"
import type * as SessionTotals from "../output/SessionTotals.ts"
import { limitedBy } from "../output/UsageLimits.ts"
import { SessionLost } from "../Session.ts"
import { decide, type Kinds, type makeAsked } from "./Permissions.ts"
import { denied, updates, withResponse } from "./Updates.ts"

export interface AcpOptions {
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** The kinds of tools that it may use; and those that people are asked for, besides. */
  readonly allowed: Kinds
  readonly asked: Kinds
  /** How it signs in: the id of one of the methods that it offers. Default: it is signed in already. */
  readonly auth?: string
  /** The mode of its sessions. Default: its own. */
  readonly mode?: string
}

interface AcpTask extends Pick<Task, "heard" | "place" | "progress" | "prompt" | "report"> {
  readonly text: string
  /** The tools that the agent gets. */
  readonly tools?: Tools
  readonly asked: ReturnType<typeof makeAsked>
  /** The permission that a person has granted it. */
  readonly granted: string | undefined
  readonly totals: ReturnType<typeof SessionTotals.make>
}

/** How long the agent may take to stop its work when it is cancelled. */
const cancelTimeout = "1 second"
/** How long its program may take to end once its input has ended, and then again after the signal: the answer waits for it. */
const endTimeout = "500 millis"
const stop = { signal: "SIGTERM", grace: endTimeout } as const
/** How long a program that has closed its output may take to end: what it printed, and its exit code, are the reason. */
const crashTimeout = "5 seconds"
/** An agent may still be replaying a session when it says that it is done. So the replay is over when it pauses. */
const replayPause = "100 millis"
const replayPauses = 20

const load = Effect.promise(() => import("@agentclientprotocol/sdk"))

/** Runs the program for the prompt, in the session if one is given. */
export const converse = (
  options: AcpOptions,
  task: AcpTask,
  session: string | undefined
): Effect.Effect<LeaderAnswer, LeaderError | SessionLost> =>
  Effect.flatMap(load, (acp) =>
    Effect.acquireUseRelease(
      Effect.map(
        ProcessGroup.start({ ...task.place, ...options, env: environment(task.prompt, task.place) }),
        (running) => ({ running, connection: connect(acp, running, options, task) })
      ),
      ({ connection, running }) => {
        const ending = Effect.flatMap(running.ended, (status) => failedWith(status, running.errors()))
        const atLimit = Effect.flatMap(Deferred.await(connection.limit), () =>
          Effect.andThen(
            Effect.suspend(() => Effect.timeoutOption(connection.cancel, cancelTimeout)),
            conclude(connection.reader.reading(), "")
          )
        )
        const talk = Effect.catch(conversation(options, connection, task, session), (error) =>
          connection.isClosed()
            ? Effect.timeoutOrElse(ending, { duration: crashTimeout, orElse: () => Effect.fail(error) })
            : error
        )
        return Effect.raceFirst(Effect.raceFirst(talk, atLimit), ending)
      },
      ({ connection, running }, exit) => {
        const cancelled = Exit.hasInterrupts(exit)
          ? Effect.timeoutOption(
              Effect.suspend(() => connection.cancel),
              cancelTimeout
            )
          : Effect.void
        return cancelled.pipe(
          Effect.andThen(Effect.sync(() => running.child.stdin.end())),
          Effect.andThen(Effect.timeoutOption(Effect.ignore(running.ended), endTimeout)),
          Effect.andThen(ProcessGroup.end(running, stop))
        )
      }
    )
  )

const failedWith = (status: string, errors: string) =>
  new LeaderError({ message: errors === "" ? `the agent ended: ${status}` : `${status}: ${errors}` })

interface Connection {
  readonly reader: EventReader
  /** Done when the run has reached one of its limits. */
  readonly limit: Deferred.Deferred<void>
  /** Asks the agent to stop, and waits until it has. */
  cancel: Effect.Effect<void>
  readonly methods: typeof Acp.methods
  readonly agent: Acp.ClientContext
  readonly isClosed: () => boolean
  /** From now on, what the agent reports belongs to the run. Before, it may replay an earlier one. */
  readonly begin: () => void
  /** How many updates have come since the last call, before the run. */
  readonly takeReplayed: () => number
}

const connect = (
  acp: typeof Acp,
  { child }: ProcessGroup.Running,
  { allowed, asked }: AcpOptions,
  task: AcpTask
): Connection => {
  const limit = Deferred.makeUnsafe<void>()
  const reader = readEvents(limiting(updates, task.prompt.agent ?? {}), {
    ...task,
    report: ({ usage: _, ...report }) => task.report(report)
  })
  let hasBegun = false
  let isAsking = false
  let replayed = 0
  const stopAtLimit = () => {
    const isReached = reader.reading().code !== undefined
    if (isReached) Deferred.doneUnsafe(limit, Effect.void)
    return isReached
  }
  const { agent, signal } = acp
    .client({ name: "webhook-trigger" })
    .onNotification(acp.methods.client.session.update, ({ params }) => {
      if (hasBegun) reader.take(params.update)
      else replayed++
      stopAtLimit()
    })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      const decision = decide(allowed, params, task.granted)
      // Gemini CLI shows the use of a tool only so.
      reader.take({ ...params.toolCall, sessionUpdate: "tool_call" })
      if (stopAtLimit()) return { outcome: { outcome: "cancelled" } }
      if (decision.denied !== undefined && task.tools?.mayAsk && asked.has(params.toolCall.kind ?? "other")) {
        if (!isAsking) task.tools.ask(...task.asked.ask(params.sessionId, params))
        isAsking = true
        agent.notify(acp.methods.agent.session.cancel, { sessionId: params.sessionId }).catch(() => {})
        return { outcome: { outcome: "cancelled" } }
      }
      if (decision.denied !== undefined) reader.take(denied(decision.denied))
      return { outcome: decision.outcome }
    })
    .connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>))
  return {
    methods: acp.methods,
    agent,
    reader,
    limit,
    cancel: Effect.void,
    isClosed: () => signal.aborted,
    begin: () => {
      hasBegun = true
    },
    takeReplayed: () => {
      const count = replayed
      replayed = 0
      return count
    }
  }
}

const conversation = (
  { auth, mode }: AcpOptions,
  connection: Connection,
  task: AcpTask,
  session: string | undefined
): Effect.Effect<LeaderAnswer, LeaderError | SessionLost> =>
  Effect.gen(function* () {
    const { agent, begin, reader, methods } = connection
    const { tools } = task
    const mcpServers = tools ? [{ name: toolServer, command: tools.command, args: [tools.script], env: [] }] : []
    const place: Acp.NewSessionRequest = { cwd: resolve(task.place.folder ?? "."), mcpServers }
    const initialized = yield* ask(() =>
      agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
    )
    const { agentCapabilities, authMethods } = initialized
    if (auth !== undefined) yield* ask(() => agent.request(methods.agent.authenticate, { methodId: auth }))
    const sessionId =
      session === undefined
        ? (yield* ask(() => agent.request(methods.agent.session.new, place), authMethods)).sessionId
        : yield* Effect.as(resume(connection, agentCapabilities, { ...place, sessionId: session }), session)
    const before = task.totals.before(session, task.prompt)
    task.report({ session_id: sessionId, ...(session !== undefined && before && { session_usage: before }) })
    if (mode !== undefined) {
      yield* ask(() => agent.request(methods.agent.session.setMode, { sessionId, modeId: mode }))
    }

    begin()
    const prompting = agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text: task.text }]
    })
    const readingOf = (response: unknown) => {
      const reading = withResponse(reader.reading(), response)
      return task.totals.counted({ ...reading, report: { ...reading.report, session_id: sessionId } }, before)
    }
    connection.cancel = Effect.ignore(
      Effect.tryPromise(async () => {
        await agent.notify(methods.agent.session.cancel, { sessionId })
        task.report(readingOf(await prompting).report ?? {})
      })
    )
    const response = yield* ask(() => prompting)
    return yield* conclude(readingOf(response), "The agent gave no answer")
  })

const ask = <A>(request: () => Promise<A>, authMethods: ReadonlyArray<Acp.AuthMethod> = []) =>
  Effect.tryPromise({ try: request, catch: (error) => failureOf(error, authMethods) })

/** The code of the error that asks to sign in. */
const authenticationRequired = -32000

const failureOf = (error: unknown, authMethods: ReadonlyArray<Acp.AuthMethod>): LeaderError => {
  const message = error instanceof Error ? error.message : String(error)
  if (at(error, "code") !== authenticationRequired) {
    const its = { message, code: at(error, "code"), data: at(error, "data") }
    return new LeaderError({
      message: textAt(error, "data", "details") ?? message.replace(/^Internal error: /, ""),
      ...limitedBy(its)
    })
  }
  const ways = authMethods.map((method) => `--auth ${method.id} (${method.name})`).join(", ")
  return new LeaderError({
    message: `The agent is not signed in. Sign in with its own program${ways && `, or use ${ways}`}`
  })
}

/** Continues the session. Agents say in their own ways that they have lost one, so any failure counts as that. */
const resume = (
  { agent, methods, takeReplayed }: Connection,
  capabilities: Acp.AgentCapabilities | undefined,
  session: Acp.LoadSessionRequest
): Effect.Effect<void, SessionLost> => {
  const request = (method: "session/resume" | "session/load") =>
    Effect.tryPromise({ try: () => agent.request(method, session), catch: () => new SessionLost() })
  if (capabilities?.sessionCapabilities?.resume) return Effect.asVoid(request(methods.agent.session.resume))
  if (!capabilities?.loadSession) return new SessionLost()
  const isReplaying = () => takeReplayed() > 0
  const replayed = Effect.repeat(Effect.sleep(replayPause), { while: isReplaying, times: replayPauses })
  return Effect.asVoid(Effect.andThen(request(methods.agent.session.load), replayed))
}
