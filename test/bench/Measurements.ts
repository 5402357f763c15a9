import { connect } from "amqplib"
import autocannon from "autocannon"
import { queryPostgres } from "../support/Postgres.ts"
import { api, startLeader } from "./Servers.ts"

/** How many requests a median is taken of. */
export const requests = 300
export const connections = 64

const body = JSON.stringify({ variables: { text: "x".repeat(500), nested: { ref: "main", count: 3 } } })

/** Triggers over 64 connections for so many seconds, none of which waits for its run. */
export const load = async (url: string, seconds: number) => {
  const result = await autocannon({
    url,
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    connections,
    duration: seconds
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`)
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 }
}

const median = (numbers: ReadonlyArray<number>) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!

/** The median of so many calls, in milliseconds; the first tenth is warm-up. */
const timed = async (times: number, act: () => Promise<unknown>) => {
  const millis: Array<number> = []
  for (let n = 0; n < times; n++) {
    const before = performance.now()
    await act()
    millis.push(performance.now() - before)
  }
  return median(millis.slice(Math.floor(times / 10)))
}

/** A persistent, confirmed message to a leader and its answer, over the same broker, with nothing around it. */
export const bareRoundTrip = async (amqpUrl: string) => {
  const model = await connect(amqpUrl, { noDelay: true } as never)
  const channel = await model.createConfirmChannel()
  await startLeader(amqpUrl, "bare")
  const { queue } = await channel.assertQueue("bench.replies", { durable: true })
  let answered: () => void = () => {}
  await channel.consume(queue, (message) => {
    channel.ack(message!)
    answered()
  })
  const result = await timed(requests, () => {
    const answer = new Promise<void>((resolve) => {
      answered = resolve
    })
    channel.sendToQueue("team.bare", Buffer.from("{}"), { persistent: true, correlationId: "1", replyTo: queue })
    return Promise.all([answer, channel.waitForConfirms()])
  })
  await model.close()
  return result
}

/** One caller who waits for the answer, again and again. */
export const waitedTriggers = (url: string) =>
  timed(requests, async () => {
    const answer = await fetch(`${url}?wait=true`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body
    })
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.text()
  })

/** A webhook's page of history, far back in 100,000 runs, against one that has no more than that page. */
export const historyPages = async (url: string, databaseUrl: string) => {
  const times: Array<number> = []
  for (const many of [20, 100_000]) {
    const { webhook } = await api(url, "POST", "/api/webhooks", {
      name: "history",
      team: "bench",
      prompt_template: "x"
    })
    await queryPostgres(
      databaseUrl,
      `insert into webhook_trigger.runs (id, source, webhook_id, team, mode, status, prompt, variables, response,
         timeout_ms, accepted_at, admitted_at, sent_at, finished_at)
       select gen_random_uuid(), 'webhook', '${webhook.id}', 'bench', 'async', 'success', 'prompt ' || n, '{}', 'answer', 1000,
         now(), now(), now(), now() from generate_series(1, ${many}) as n`
    )
    await queryPostgres(databaseUrl, "analyze webhook_trigger.runs")
    const path = `/api/webhooks/${webhook.id}/runs?limit=20`
    const far = many > 20 ? `&cursor=${await cursorFarBack(url, path)}` : ""
    times.push(await timed(100, () => api(url, "GET", path + far)))
  }
  return times as [number, number]
}

const cursorFarBack = async (url: string, path: string) => {
  let cursor = ""
  for (let page = 0; page < 200; page++) {
    const { next_cursor } = await api(url, "GET", `${path.replace("limit=20", "limit=100")}${cursor}`)
    cursor = `&cursor=${next_cursor}`
  }
  return cursor.slice("&cursor=".length)
}
