import { DateTime, Duration, Effect, Exit, Layer, Option, Scope } from "effect"
import type { RunId } from "../../../src/domain/Id.ts"
import { Replay } from "../../../src/engine/replay/Replay.ts"
import type { ReplayRequest } from "../../../src/engine/replay/ReplayCandidates.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import {
  engine,
  engineInMemory,
  lead,
  makeTeam,
  makeWebhook,
  onEngine,
  onPorts,
  sendMessage,
  until
} from "../Scenario.ts"

const runOf = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))
const keyOf = (id: RunId) => Effect.map(runOf(id), ({ thread }) => thread?.key)
/** A webhook whose runs have the thread that `thread` names. */
const threaded = (team: Parameters<typeof makeWebhook>[0], more: Parameters<typeof makeWebhook>[1] = {}) =>
  makeWebhook(team, { thread_key: "{{text.thread}}", ...more })

onEngine("sends a thread's next run when the one before has ended, with the session that it reported", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const webhook = yield* threaded(team)
  const [first, second] = [yield* webhook.submit({ thread: "a" }), yield* webhook.submit({ thread: "a", n: 2 })]
  yield* sendMessage(team, "alone")
  const { prompt } = yield* leader.next
  const thread = { id: (yield* runOf(first)).thread!.id }
  expect(prompt).toMatchObject({ run_id: first, thread })
  expect(Object.keys(prompt.thread!)).toEqual(["id"])
  yield* leader.answer("done", { session_id: "s-1" })
  expect((yield* leader.next).prompt).toMatchObject({ run_id: second, thread: { ...thread, session_id: "s-1" } })
  yield* leader.answer("done", { session_id: "s-2" })
  const alone = yield* leader.next
  expect(alone.text).toBe("alone")
  expect(Object.keys(alone.prompt)).not.toContain("thread")
  yield* leader.answer("done")
  const third = yield* sendMessage(team, "go on", { thread_key: "a" })
  expect((yield* leader.next).prompt).toMatchObject({ run_id: third, thread: { ...thread, session_id: "s-2" } })
})

onPorts("a server that takes over keeps a thread's order, and finds its session", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const start = Effect.gen(function* () {
    const scope = yield* Scope.make()
    return { context: yield* Layer.buildWithScope(engine(), scope), stop: Scope.close(scope, Exit.void) }
  })
  const before = yield* start
  const webhook = yield* threaded(team)
  const submit = Effect.provide(webhook.submit({ thread: "a" }), before.context)
  const [first, second, third] = [yield* submit, yield* submit, yield* submit]
  expect((yield* leader.next).prompt.run_id).toBe(first)
  yield* before.stop
  const after = yield* start
  // The bus of the first server is still there. Its prompt is sent again, and nothing else.
  yield* leader.answer("done", { session_id: "s-1" })
  const seen: Array<readonly [RunId, string | undefined]> = []
  for (let n = 2; seen.at(-1)?.[0] !== third; n++) {
    const { prompt } = yield* leader.next
    seen.push([prompt.run_id, prompt.thread?.session_id])
    yield* leader.answer("done", { session_id: prompt.run_id === first ? "s-1" : `s-${n}` })
  }
  const own = seen.filter(([id]) => id !== first)
  expect(own.map(([id]) => id)).toEqual([second, third])
  expect(own[0]![1]).toBe("s-1")
  expect(own[1]![1]).not.toBe("s-1")
  yield* after.stop
})

onEngine("a run stands alone if a value of the key is missing, or the key is blank", function* () {
  const team = yield* makeTeam("deploy")
  yield* lead(team)
  const simple = yield* makeWebhook(team, { thread_key: "{{text.repo}}#{{text.number}}" })
  const liquid = yield* makeWebhook(team, {
    template_language: "liquid",
    thread_key: "{{ text.repo | downcase }}{% if text.number %}#{{ text.number }}{% endif %}"
  })
  expect(yield* keyOf(yield* simple.submit({ repo: " Shop", number: 7 }))).toBe("Shop#7")
  expect(yield* keyOf(yield* simple.submit({ repo: "Shop" }))).toBeUndefined()
  expect(yield* keyOf(yield* liquid.submit({ repo: "Shop", number: 7 }))).toBe("shop#7")
  expect(yield* keyOf(yield* liquid.submit({ repo: "Shop", number: false }))).toBe("shop")
  expect(yield* keyOf(yield* liquid.submit({ repo: " ", number: false }))).toBeUndefined()
})

onEngine("a replay belongs to the thread of the run, unless it names another one or none", function* () {
  const team = yield* makeTeam("deploy")
  yield* lead(team)
  const webhook = yield* threaded(team)
  const run = yield* webhook.submit({ thread: "a" })
  const message = yield* sendMessage(team, "hello", { thread_key: "a" })
  const alone = yield* webhook.submit({ other: true })
  const replay = (id: RunId, request: Partial<ReplayRequest> = {}) =>
    Effect.flatMap(Replay, (replays) => replays.replay(id, { prompt: "template", ...request }))
  for (const id of [run, message]) {
    expect(yield* keyOf(yield* replay(id))).toBe("a")
    expect(yield* keyOf(yield* replay(id, { prompt: "same" }))).toBe("a")
    expect(yield* keyOf(yield* replay(id, { thread: "b" }))).toBe("b")
    expect(yield* keyOf(yield* replay(id, { thread: null }))).toBeUndefined()
  }
  expect(yield* keyOf(yield* replay(run, { variables: { text: { thread: "c" } } }))).toBe("a")
  expect(yield* keyOf(yield* replay(alone))).toBeUndefined()
  expect(yield* keyOf(yield* replay(alone, { thread: "b" }))).toBe("b")
})

onEngine("a retry belongs to the thread of the failed run, and goes on with its session", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const webhook = yield* threaded(team, { retries: { max_retries: 1, backoff_seconds: 1 } })
  const first = yield* webhook.submit({ thread: "a" })
  yield* leader.next
  yield* leader.fail("no disk", { session_id: "s-1" })
  yield* until(Effect.map(runOf(first), ({ retry_at }) => retry_at !== undefined))
  yield* advance("3 seconds")
  const { prompt } = yield* leader.next
  expect(prompt.run_id).not.toBe(first)
  expect(prompt.thread).toEqual({ id: (yield* runOf(first)).thread!.id, session_id: "s-1" })
  expect((yield* DateTime.now).epochMilliseconds).toBe(3_000)
})

it.effect("a thread without runs for `threadIdle` ends, and its next run begins another one", () =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* threaded(team)
    const first = yield* webhook.submit({ thread: "a" })
    yield* leader.next
    yield* leader.answer("done", { session_id: "s-1" })
    yield* until(Effect.map(runOf(first), ({ status }) => status === "success"))
    const { id } = (yield* runOf(first)).thread!
    yield* advance("1 minute")
    expect((yield* repo.thread(id)).ended_at).toBeUndefined()
    yield* advance("1 minute")
    expect((yield* repo.thread(id)).ended_at).toBeDefined()
    yield* webhook.submit({ thread: "a" })
    const { prompt } = yield* leader.next
    expect(prompt.thread?.id).not.toBe(id)
    expect(prompt.thread).not.toHaveProperty("session_id")
  }).pipe(Effect.provide(engineInMemory({ threadIdle: Option.some(Duration.seconds(90)) })))
)
