/** Requests of a few keys at two servers at once, while one is killed: one run of a key at a time, and the last one answers. */
import { expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { randomFor } from "../../support/Random.ts"
import { until } from "../../support/Until.ts"
import { answerTo, answerWhenOpen } from "../support/Answers.ts"
import type { Call } from "../support/Callers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"

const requests = 1_000
const keys = Array.from({ length: 20 }, (_, n) => `key${n}`)
const teams = ["a", "b", "c", "d"]
/** Callers side by side. */
const lanes = 25

interface End {
  readonly id: string
  readonly status: string
  readonly cancelled_by: string | null
  readonly superseded_by: string | null
}

const keyOf = ({ nonce }: Pick<Call, "nonce">) => nonce.split(" ")[0]!
const closed = (key: string, n: number) => `${key} ${n} closed`
const isBefore = (one: Call, other: Call) => one.answeredAt! < other.sentAt

/** What a newer request ended must be older, and what is older than one must have ended. */
const brokenOrder = (calls: ReadonlyArray<Call>, ends: ReadonlyArray<End>): ReadonlyArray<string> => {
  const answered = calls.filter(({ answeredAt, body }) => answeredAt !== undefined && body !== undefined)
  const callOf = new Map(answered.map((call) => [call.body.run_id, call]))
  const newer = answered.filter(({ body }) => body.run_id !== undefined || body.run_ids !== undefined)
  return ends.flatMap(({ cancelled_by, id, status, superseded_by }) => {
    const call = callOf.get(id)
    if (call === undefined) return []
    const by =
      cancelled_by === "superseded"
        ? callOf.get(superseded_by)
        : answered.find(({ body }) => body.run_ids?.includes(id))
    if (by !== undefined && isBefore(by, call)) return [`${call.nonce} was cancelled by ${by.nonce}, which is older`]
    const after = newer.find((other) => keyOf(other) === keyOf(call) && isBefore(call, other))
    return after !== undefined && status !== "cancelled" ? [`${call.nonce} went on after ${after.nonce}`] : []
  })
}

const random = randomFor("keys of requests")

/** The keys that have more than one run, until the race is over. */
const watch = async (cluster: Cluster, isOver: () => boolean) => {
  const doubled: Array<unknown> = []
  while (!isOver()) {
    doubled.push(
      ...(await cluster.storage.query(
        `select webhook_id, singleton_key from webhook_trigger.runs
         where finished_at is null group by 1, 2 having count(*) > 1`
      ))
    )
  }
  return doubled
}

faultTest(
  "row 45: requests supersede each other, and events cancel them, at two servers, one of which is killed: nothing newer ends, nothing older goes on, and the last ones are answered",
  async ({ cluster }) => {
    const [first, second] = [await cluster.server(), await cluster.server()]
    const gate = new Gate()
    const webhooks = await Promise.all(
      teams.map((team) =>
        cluster.webhook(first, {
          team,
          template_language: "liquid",
          singleton: { key: '{{ nonce | split: " " | first }}', on_new: "supersede" },
          cancel_if: "ends_with(nonce, ' closed')"
        })
      )
    )
    await Promise.all(teams.map((team) => cluster.leader(team, { handle: answerWhenOpen(gate) })))
    for (const team of teams) for (const server of [first, second]) await cluster.running(server, team)
    const send = (server: typeof first, key: string, nonce: string, wait: boolean) =>
      cluster.callers.trigger(server, webhooks[keys.indexOf(key) % webhooks.length]!, { nonce, wait })

    let isOver = false
    const watching = watch(cluster, () => isOver)
    const waiting: Array<Promise<Call>> = []
    let restarted: Promise<void> | undefined
    let isDown = false
    let sent = 0
    const lane = async () => {
      while (sent < requests) {
        const n = sent++
        if (n === 300) {
          isDown = true
          restarted = first.kill().then(() => first.start())
        }
        if (n >= 600) isDown = await restarted!.then(() => false)
        const key = random.pick(keys)
        const nonce = n % 7 === 0 ? closed(key, n) : `${key} ${n}`
        const call = send(n % 2 && !isDown ? first : second, key, nonce, n % 11 === 5)
        if (n % 11 === 5) waiting.push(call)
        else await call
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    isOver = true
    expect(await watching).toEqual([])
    const last = keys.map((key, n) => send(n % 2 ? first : second, key, `${key} last`, true))
    // What ends before a newer one is accepted was not superseded by it.
    const accepted = "select id from webhook_trigger.runs where prompt like '% last'"
    await until(
      "the last ones are accepted",
      async () => (await cluster.storage.query(accepted)).length === keys.length
    )
    gate.open()
    expect((await Promise.all(last)).map(({ body, nonce }) => [nonce, body?.response])).toEqual(
      keys.map((key) => [`${key} last`, answerTo(`${key} last`)])
    )
    await Promise.all(waiting)
    const calls = cluster.callers.calls
    await cluster.checked({ calls: calls.filter(({ body }) => body?.run_id !== undefined) })
    const ends = (await cluster.storage.query(
      "select id, status, cancelled_by, superseded_by from webhook_trigger.runs"
    )) as unknown as ReadonlyArray<End>
    expect(brokenOrder(calls, ends)).toEqual([])
    const by = new Set(ends.map(({ cancelled_by }) => cancelled_by))
    expect([...by].toSorted()).toEqual(["event", "superseded", null].toSorted())
  }
)
