/** Server and database die between the end of a run and its delivery, and during attempts: nothing is lost. */
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect } from "vitest"
import { type Answer, hang, receiver } from "../../support/Receiver.ts"
import { until } from "../../support/Until.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTestOn } from "../support/FaultTest.ts"
import { type PrivateServices, privateServices } from "../support/Services.ts"

let own: PrivateServices
const scope = Effect.runSync(Scope.make())
beforeAll(async () => {
  own = await privateServices({ postgres: true })
}, 180_000)
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await own.close()
})
const faultTest = faultTestOn(() => own.services)

const runs = 20

/** Runs that have ended, whose destination keeps its connections open without an answer. */
const withHangingDestination = async (cluster: Cluster) => {
  let answer: Answer = hang
  const { received, url } = await Effect.runPromise(
    Scope.provide(
      receiver({
        "/hook": (response, request) => {
          if (typeof answer === "function") answer(response, request)
          else response.writeHead(200).end()
        }
      }),
      scope
    )
  )
  const { server, webhook } = await cluster.single({}, { env: { CALLBACK_ALLOW: "127.0.0.1" } })
  await cluster.api(server, "POST", `/api/webhooks/${webhook.id}/destinations`, { url, body: "full" })
  await Promise.all(Array.from({ length: runs }, () => cluster.callers.trigger(server, webhook)))
  const rows = await cluster.checked({ count: runs })
  await until("attempts are in progress", () => received.length >= 5)
  const deliveries = async (): Promise<ReadonlyArray<any>> =>
    (await cluster.api(server, "GET", `/api/webhooks/${webhook.id}/deliveries?limit=100`)).data
  const before = await deliveries()
  expect(before.map(({ status }) => status)).toEqual(rows.map(() => "pending"))
  return {
    server,
    received,
    answers: () => {
      answer = 200
    },
    /** Each has one delivery, under the id that it had from the start, and the receiver has got all of them. */
    delivered: async () => {
      await until(
        "everything is delivered",
        async () => (await deliveries()).every(({ status }) => status === "delivered"),
        100_000
      )
      const after = await deliveries()
      expect(after.map(({ id, run_id }) => [id, run_id])).toEqual(before.map(({ id, run_id }) => [id, run_id]))
      const ids = new Set(received.map(({ headers }) => headers["webhook-id"]))
      expect(ids).toEqual(new Set(before.map(({ id }) => id)))
    }
  }
}

describe.concurrent("deliveries to a destination", () => {
  faultTest("row 41: the server is killed before most attempts and during some", async ({ cluster }) => {
    const { answers, delivered, received, server } = await withHangingDestination(cluster)
    const interrupted = received.map(({ headers }) => headers["webhook-id"])
    await server.kill()
    answers()
    await server.start()
    await delivered()
    const again = received.slice(interrupted.length).map(({ headers }) => headers["webhook-id"])
    expect(again).toEqual(expect.arrayContaining(interrupted))
  })
})

describe("deliveries to a destination", () => {
  faultTest("row 41a: the database is killed before most attempts and during some", async ({ cluster }) => {
    const { answers, delivered } = await withHangingDestination(cluster)
    await own.postgres.crash()
    answers()
    await own.postgres.start()
    await delivered()
  })
})
