/** Tools of ours for an agent's program, over the Model Context Protocol: it can ask, link a result, and say what it does. */
import { chmodSync, chownSync, writeFileSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import { join } from "node:path"
import { Readable } from "node:stream"
import type { Server } from "@modelcontextprotocol/server"
import { Cause, Deferred, Effect, Exit, Fiber, Option, Result, type Scope } from "effect"
import { maxAnswer } from "../../bus/Bodies.ts"
import { type AgentReport, readReport } from "../../domain/run/AgentReport.ts"
import { type LeaderAnswer, LeaderError } from "../Leader.ts"
import * as TemporaryFolder from "../TemporaryFolder.ts"
import type { Task } from "./Agent.ts"
import { listAt, textAt, toolServer } from "./output/Reading.ts"
import { makePace } from "./Pace.ts"

/** The operator's option for an agent without the tools. */
export const noTools = "--no-tools"

/** The tools that an agent gets. */
export interface Tools {
  /** The path of Node, which serves the tools on its standard input and output. */
  readonly command: string
  /** Its argument, a file. */
  readonly script: string
  /** Whether the webhook allows questions. */
  readonly mayAsk: boolean
  /** Asks a question in the agent's place, which is to end its turn then. */
  readonly ask: (question: string, suggestions: ReadonlyArray<unknown>) => void
}

/** Maximum connections of a run. Further ones are closed. */
const mostConnections = 16
/** Maximum questions of a run: each is a paragraph of what the person reads. */
const mostQuestions = 10
/** Maximum length of all questions, in UTF-16 code units, as of an answer. */
const longestQuestions = maxAnswer
/** Milliseconds from one line of progress that is shown to the next. */
const betweenLines = 100

/** How long an agent that has asked may take to end its turn. Most write one more message, and then report what they used. */
const grace = { interval: "500 millis", times: 120 } as const

/** Only passes on what it reads: the leader itself serves the tools. So it starts at once, and needs no files of ours. */
const relayTo = (socket: string) => `const s = require("node:net").connect(${JSON.stringify(socket)})
s.on("error", (e) => console.error(e.message)).on("close", () => process.exit())
process.stdin.pipe(s).pipe(process.stdout)
`

const text = (description: string) => ({ type: "string", description }) as const

const tools = [
  {
    name: "ask",
    description:
      "Ask the person who gave you the task a question, if you cannot go on without their decision or something that only they know. It ends your turn, and their reply is your next message. They see only the question, so include what they need to know.",
    inputSchema: {
      type: "object",
      properties: {
        question: text("In Markdown."),
        suggestions: {
          type: "array",
          maxItems: 10,
          items: { type: "string", maxLength: 200 },
          description: "Short replies to choose from."
        }
      },
      required: ["question"]
    }
  },
  {
    name: "link",
    description: "Show a result of your work beside the answer, such as a pull request that you opened.",
    inputSchema: {
      type: "object",
      properties: { url: text("With http or https."), title: text("What it is, in a few words.") },
      required: ["url"]
    }
  },
  {
    name: "progress",
    description:
      "Show the person who gave you the task what you are doing now. Use it when you begin something that takes long.",
    inputSchema: { type: "object", properties: { text: text("One short line.") }, required: ["text"] }
  }
] as const

/** Some programs ask for permission before they use a tool that changes something. */
const annotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }
/** Claude Code otherwise searches for tools before it can use them. */
const _meta = { "anthropic/alwaysLoad": true }

const result = (text: string, isError = false) => ({ content: [{ type: "text" as const, text }], isError })

/** The agent's use of the tools, and the question that it has asked. */
const uses = ({ progress, prompt, report }: Pick<Task, "progress" | "prompt" | "report">) => {
  const mayAsk = prompt.agent?.may_ask !== false
  const asked = Deferred.makeUnsafe<void>()
  const questions: Array<string> = []
  let asks: ReadonlyArray<string> = []
  let links: ReadonlyArray<unknown> = []
  const mayAskMore = (question: string) =>
    questions.length < mostQuestions && [...questions, question].join("\n\n").length <= longestQuestions
  /** The newest line that is not shown yet. More than one in a moment nobody could read. */
  let line: string | undefined
  let shownAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  const show = () => {
    timer = undefined
    if (line !== undefined) progress({ activity: line })
    line = undefined
    shownAt = performance.now()
  }
  const showSoon = (next: string) => {
    line = next
    const wait = shownAt + betweenLines - performance.now()
    if (wait <= 0 && timer === undefined) show()
    else timer ??= setTimeout(show, wait)
  }
  const end = () => {
    clearTimeout(timer)
    if (timer !== undefined) show()
  }
  const ask = (question: string, suggestions: ReadonlyArray<unknown>) => {
    if (!mayAskMore(question)) return
    questions.push(question)
    // Suggestions for one of several questions would not say which.
    asks = questions.length > 1 ? [] : (readReport({ asks: suggestions })?.asks ?? [])
    Deferred.doneUnsafe(asked, Effect.void)
  }
  const call = (name: string, args: unknown) => {
    const [question, text] = [textAt(args, "question")?.trim(), textAt(args, "text")?.trim()]
    switch (name) {
      case "ask": {
        if (!mayAsk) return result("Nobody can answer questions here. Decide for yourself.", true)
        if (!question) return result("The question is missing.", true)
        if (!mayAskMore(question)) {
          return result(
            `Not asked: up to ${mostQuestions} questions can be asked, together no longer than an answer. End your turn now.`,
            true
          )
        }
        ask(question, listAt(args, "suggestions"))
        return result("The question will be asked when your turn ends. End it now; the reply is your next message.")
      }
      case "link": {
        const known = readReport({ links: [...links, args] })?.links ?? []
        if (known.length <= links.length)
          return result("Not added: this is not an http or https URL, or there are too many links.", true)
        links = known
        report({ links: known })
        return result("Added.")
      }
      case "progress":
        if (!text) return result("The text is missing.", true)
        showSoon(text)
        return result("Shown.")
      default:
        return result(`There is no tool ${name}.`, true)
    }
  }
  /** The question as the answer; `undefined` if there is none. */
  const question = (report: AgentReport | undefined): LeaderAnswer | undefined =>
    questions.length === 0 ? undefined : { response: questions.join("\n\n"), report: { ...report, asks } }
  return { ask, asked: Deferred.await(asked), call, end, mayAsk, question }
}

const serveOn = async (socket: Socket, input: Readable, { call, mayAsk }: ReturnType<typeof uses>) => {
  const [sdk, stdio] = await Promise.all([
    import("@modelcontextprotocol/server"),
    import("@modelcontextprotocol/server/stdio")
  ])
  const make = (): Server => {
    const server = new sdk.Server({ name: toolServer, version: "1" }, { capabilities: { tools: {} } })
    const offered = tools
      .filter(({ name }) => mayAsk || name !== "ask")
      .map((tool) => ({ ...tool, annotations, _meta }))
    server.setRequestHandler("tools/list", () => ({ tools: offered }) as never)
    server.setRequestHandler("tools/call", ({ params }) => call(params.name, params.arguments))
    return server
  }
  stdio.serveStdio(make, { transport: new stdio.StdioServerTransport(input, socket) })
}

/** Serves the tools on a socket that only the program's user can connect to. */
const serve = (task: Task): Effect.Effect<{ readonly tools: Tools } & ReturnType<typeof uses>, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const used = uses(task)
    yield* Effect.addFinalizer(() => Effect.sync(used.end))
    const { user } = task.place
    const folder = yield* TemporaryFolder.make("webhook-tools-")
    const [path, script] = [join(folder, "socket"), join(folder, "tools.cjs")]
    const sockets = new Set<Socket>()
    const paced = makePace()
    const listener = createServer((socket) => {
      sockets.add(socket)
      socket.on("error", () => {}).on("close", () => sockets.delete(socket))
      const input = Readable.from(paced(socket), { objectMode: false }).on("error", () => socket.destroy())
      serveOn(socket, input, used).catch(() => socket.destroy())
    })
    // An agent has one connection, and perhaps one for each agent of its own.
    listener.maxConnections = mostConnections
    yield* Effect.acquireRelease(
      Effect.tryPromise(
        () => new Promise<void>((resolve, reject) => listener.on("error", reject).listen(path, resolve))
      ),
      () =>
        Effect.sync(() => {
          listener.close()
          for (const socket of sockets) socket.destroy()
        })
    )
    yield* Effect.try(() => {
      writeFileSync(script, relayTo(path), { mode: 0o644 })
      if (user === undefined) return
      chownSync(path, user.uid, user.gid)
      chmodSync(path, 0o600)
      // The folder stays the leader's own: the user could mislead it when it is removed.
      chmodSync(folder, 0o711)
    })
    return { ...used, tools: { command: process.execPath, script, mayAsk: used.mayAsk, ask: used.ask } }
  })

/**
 * Works with the tools. Once the agent has asked, the answer is the question, whatever else it says or fails with, and an
 * agent that does not end its turn is stopped. Without a folder for temporary files, it works without the tools.
 */
export const withTools = <E>(
  task: Task,
  work: (tools?: Tools) => Effect.Effect<LeaderAnswer, LeaderError | E>
): Effect.Effect<LeaderAnswer, LeaderError | E> =>
  Effect.gen(function* () {
    const served = yield* Effect.result(serve(task))
    if (Result.isFailure(served)) {
      yield* Effect.logWarning(`the agent works without the leader's tools: ${served.failure}`)
      return yield* work()
    }
    const { asked, question, tools } = served.success
    const working = yield* Effect.forkChild(work(tools))
    // It may be silent meanwhile.
    const pause = Effect.andThen(
      Effect.sync(() => task.heard?.()),
      Effect.sleep(grace.interval)
    )
    const overdue = Effect.andThen(asked, Effect.repeat(pause, { times: grace.times - 1 }))
    yield* Effect.forkScoped(Effect.andThen(overdue, Fiber.interrupt(working)))
    // An agent that is interrupted may still report what it used, so it is waited for.
    const exit = yield* Effect.onInterrupt(Fiber.await(working), () => Fiber.interrupt(working))
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : exit.value
    const report = typeof error === "object" && error !== null && "report" in error ? error.report : undefined
    return question(report) ?? (yield* exit)
  }).pipe(Effect.scoped)
