import { Deferred, Effect } from "effect"
import { comments } from "../../support/Comments.ts"
import { expect, it } from "../../support/It.ts"
import { type Answer, receiver } from "../../support/Receiver.ts"
import { repeatUntil } from "../../support/Until.ts"
import { type Leader, start } from "../Server.ts"

/** A webhook whose runs share a comment, and a leader that answers a prompt with itself, or fails, once `answers` is done. */
const withComments = (answerTo: Answer, answers: Effect.Effect<unknown> = Effect.void) =>
  Effect.gen(function* () {
    const { port, received } = yield* receiver(answerTo)
    const leader: Leader = ({ prompt: { prompt }, reply }) =>
      Effect.andThen(
        answers,
        reply(prompt === "fail" ? { _tag: "Failed", message: "no disk" } : { _tag: "Answered", response: prompt })
      )
    const server = yield* start()
    const hook = yield* server.webhook(yield* server.team("ops", leader))
    const path = `/api/webhooks/${hook.id}`
    const draft = { kind: "github", url: `http://127.0.0.1:${port}`, token: "x", target: "acme/shop#7" }
    const created = yield* server.admin("POST", `${path}/destinations`, { body: draft })
    expect(created.status, created.text).toBe(201)
    const trigger = (text: string) =>
      Effect.map(server.http("POST", hook.path, { body: { variables: { text } } }), ({ json }) => json.run_id as string)
    /** Once so many deliveries were made. */
    const delivered = (count: number): Effect.Effect<Array<any>> =>
      repeatUntil(
        Effect.map(server.admin("GET", `${path}/deliveries`), ({ json }) => json.data),
        (all) => all.length >= count && all.every(({ status }: any) => status === "delivered")
      )
    const sendTest = server.admin("POST", `${path}/destinations/${created.json.destination.id}/test`)
    return { ...server, delivered, received, sendTest, trigger }
  })

/** Without its hidden first line. */
const shown = (body: string) => body.slice(body.indexOf("\n") + 1)

it.live("runs of one issue make one comment, with requests one after the other in the order of the runs", function* () {
  const { all, answerTo } = comments()
  let open = 0
  let most = 0
  const held: Answer = (response, request) => {
    most = Math.max(most, ++open)
    // Others have the time to come in between.
    setTimeout(() => {
      open--
      if (typeof answerTo === "function") answerTo(response, request)
    }, 20)
  }
  const answers = yield* Deferred.make<void>()
  const { delivered, received, trigger } = yield* withComments(held, Deferred.await(answers))
  const texts = ["1", "2", "3", "4", "5", "6"]
  yield* Effect.forEach(texts, trigger)
  yield* Deferred.succeed(answers, undefined)
  yield* delivered(6)
  expect(most).toBe(1)
  expect(all).toHaveLength(1)
  const bodies = received.flatMap(({ body }) => (body === "" ? [] : [shown(JSON.parse(body).body)]))
  expect(bodies).toEqual(texts.map((text) => `**a webhook** ✅ succeeded\n\n${text}`))
})

it.live("a run that was cancelled or failed is a line below the answer, until the next answer", function* () {
  const { all, answerTo } = comments()
  const answers = yield* Deferred.make<void>()
  const { admin, delivered, trigger } = yield* withComments(answerTo, Deferred.await(answers))
  yield* trigger("first")
  const waiting = yield* trigger("second")
  yield* admin("POST", `/api/runs/${waiting}/cancel`)
  yield* delivered(1)
  expect(shown(all[0]!.body)).toBe("**a webhook** 🚫 cancelled")
  yield* Deferred.succeed(answers, undefined)
  yield* delivered(2)
  const title = "**a webhook** ✅ succeeded\n\n"
  expect(shown(all[0]!.body)).toBe(`${title}first\n\n---\n\n- **a webhook** 🚫 cancelled`)
  yield* trigger("fail")
  yield* delivered(3)
  expect(shown(all[0]!.body)).toBe(
    `${title}first\n\n---\n\n- **a webhook** 🚫 cancelled\n- a webhook ❌ failed: no disk`
  )
  yield* trigger("third")
  yield* delivered(4)
  expect(shown(all[0]!.body)).toBe(`${title}third`)
  expect(all).toHaveLength(1)
})

it.live("a test has a comment of its own, and never changes that of the runs", function* () {
  const { all, answerTo } = comments()
  const { delivered, sendTest, trigger } = yield* withComments(answerTo)
  // Before there is a run, too: the first run does not take over the test's comment.
  expect((yield* sendTest).json).toMatchObject({ http_status: 201 })
  yield* trigger("review")
  yield* delivered(1)
  const review = all[1]!.body
  expect(shown(review)).toBe("**a webhook** ✅ succeeded\n\nreview")
  expect((yield* sendTest).json).toMatchObject({ http_status: 200 })
  expect((yield* sendTest).json).toMatchObject({ http_status: 200 })
  expect(all.map(({ body }) => shown(body))).toEqual([
    "**Test: a webhook** ✅ succeeded\n\nreview",
    "**a webhook** ✅ succeeded\n\nreview"
  ])
  expect(all[1]!.body).toBe(review)
  yield* trigger("again")
  yield* delivered(2)
  expect(all.map(({ body }) => shown(body))).toEqual([
    "**Test: a webhook** ✅ succeeded\n\nreview",
    "**a webhook** ✅ succeeded\n\nagain"
  ])
})

it.live("the comment is found among any number of others, and written anew once it was deleted", function* () {
  const { all, answerTo } = comments()
  for (let id = 1; id <= 1_200; id++) all.push({ id, body: "a comment" })
  const { delivered, received, trigger } = yield* withComments(answerTo)
  yield* trigger("first")
  yield* delivered(1)
  received.length = 0
  yield* trigger("second")
  yield* delivered(2)
  expect(received.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /repos/acme/shop/issues/comments/1201",
    "PATCH /repos/acme/shop/issues/comments/1201"
  ])
  all.length = 100
  yield* trigger("third")
  yield* delivered(3)
  expect(all).toHaveLength(101)
  yield* trigger("fourth")
  yield* delivered(4)
  expect(all).toHaveLength(101)
  expect(shown(all[100]!.body)).toBe("**a webhook** ✅ succeeded\n\nfourth")
})
