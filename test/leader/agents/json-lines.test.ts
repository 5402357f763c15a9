import { describe, expect } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import { RunId } from "../../../src/domain/Id.ts"
import { AgentLeader, Command, type Progress } from "../../../src/leader/index.ts"
import { makePrompt, team } from "../../bus/contract/support.ts"
import { behaviour, leading, onBusOfItsOwn } from "./Leading.ts"

describe("a program that prints JSON lines", () => {
  const jsonLines = (script: string) =>
    leading(Command.agent({ command: "sh", args: ["-c", script], output: "json-lines" }))

  behaviour(
    "answers or fails with a report, and its other lines are not part of it",
    Effect.gen(function* () {
      const { send } = yield* jsonLines(
        `input=$(cat)
         echo 'a warning'
         echo '{"session_id":"s-1"}'
         [ "$input" = fail ] && echo '{"type":"error","message":"no","usage":{"cost_usd":0.5}}' && exit 3
         printf '%s' '{"response":"yes","links":[{"title":"PR","url":"https://git.example.com/7"}]}'`
      )
      expect(yield* send("Do it.")).toMatchObject({
        _tag: "Answered",
        response: "yes",
        report: { session_id: "s-1", links: [{ title: "PR", url: "https://git.example.com/7" }] }
      })
      expect(yield* send("fail")).toMatchObject({
        _tag: "Failed",
        message: "no",
        report: { session_id: "s-1", usage: { cost_usd: 0.5 } }
      })
    })
  )

  behaviour(
    "says at which limit it stopped, and finds what its webhook asks for in its environment",
    Effect.gen(function* () {
      const agent = { model: "m-2", permissions: "edit", max_turns: 7, max_cost: 0.5 }
      const { send } = yield* jsonLines(
        `echo "{\\"type\\":\\"error\\",\\"code\\":\\"turns_exceeded\\",\\"message\\":\\"$WEBHOOK_MODEL $WEBHOOK_PERMISSIONS\\",\\"response\\":\\"$WEBHOOK_MAX_TURNS $WEBHOOK_MAX_COST\\"}"`
      )
      const stopped = yield* send("Do it.", { agent })
      expect(stopped).toMatchObject({ code: "turns_exceeded", message: "m-2 edit", response: "7 0.5" })
      for (const code of ["agent_stalled", "answer_invalid"]) {
        const says = yield* jsonLines(`echo '{"type":"error","code":"${code}","message":"no","response":"half"}'`).pipe(
          onBusOfItsOwn
        )
        expect(yield* says.send("Do it.")).toMatchObject({ _tag: "Failed", code, response: "half" })
      }
      const spends = yield* jsonLines(`echo '{"usage":{"cost_usd":0.75}}'; sleep 600`).pipe(onBusOfItsOwn)
      expect(yield* spends.send("Do it.", { agent })).toMatchObject({ _tag: "Failed", code: "cost_exceeded" })
    })
  )

  behaviour(
    "shows its progress",
    Effect.gen(function* () {
      const { send, shown } = yield* jsonLines(
        `echo '{"type":"progress","activity":"Running the tests"}'
         echo '{"type":"progress","text":"All "}'
         echo '{"type":"progress","text":"green."}'
         echo '{"response":"All green."}'`
      )
      expect(yield* send("Do it.")).toMatchObject({ response: "All green." })
      expect(shown).toEqual([{ activity: "Running the tests" }, { text: "All " }, { text: "green." }])
    })
  )

  behaviour(
    "shows its progress to the server",
    Effect.gen(function* () {
      const bus = yield* Bus
      const observed = yield* Queue.unbounded<Progress>()
      yield* bus.consume(() => Effect.void, {
        correlation: { subjectOf: (id) => ({ run_id: RunId.make(id) }) },
        progress: ({ activity, text }) => Queue.offerUnsafe(observed, { activity, text } as Progress)
      })
      const agent = Command.agent({
        command: "sh",
        args: ["-c", `echo '{"type":"progress","activity":"Reading","text":"I see."}'; echo '{"response":"yes"}'`],
        output: "json-lines"
      })
      yield* AgentLeader.start({ team, agent })
      yield* bus.publish(yield* makePrompt({}))
      expect(Array.from(yield* Queue.takeN(observed, 2))).toEqual([{ activity: "Reading" }, { text: "I see." }])
    })
  )

  behaviour(
    "fails when it prints no reply",
    Effect.gen(function* () {
      const { send } = yield* jsonLines("echo done")
      expect(yield* send("Do it.")).toMatchObject({ _tag: "Failed", message: "no answer in its output" })
    })
  )
})
