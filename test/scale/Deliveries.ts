/** Whether dead destinations delay the deliveries to all others. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { openPlace } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"
import { formatted, type Measured } from "./Report.ts"
import { startServer } from "./Server.ts"

const webhooks = 5
const destinationsOfEach = 20
/** How many runs end in a second, each with 20 deliveries. */
const runsPerSecond = 25

/** A receiver that answers at once, except at `/hang` and `/broken`. */
const openReceiver = async () => {
  const latencies: Array<number> = []
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => {
      body += chunk
    })
    request.on("end", () => {
      if (request.url === "/hang") return
      if (request.url === "/broken") return void response.writeHead(500).end()
      latencies.push(Date.now() - Date.parse(JSON.parse(body).timestamp))
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { latencies, close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Milliseconds from the ends of runs to the arrival at destinations that answer, of so many deliveries with the dead ones'. */
const latenciesWith = async (services: Services, dead: number, deliveries: number): Promise<ReadonlyArray<number>> => {
  const place = await openPlace(services)
  const receiver = await openReceiver()
  const closed = `http://127.0.0.1:${await freePort()}/`
  try {
    const settings = { CALLBACK_ALLOW: "127.0.0.1", SECRETS_KEY: "0".repeat(64) }
    const { request } = await startServer(place, { settings })
    await request("POST", "/api/teams", { team: "ops" })
    const ids: Array<string> = []
    for (let n = 0; n < webhooks * destinationsOfEach; n++) {
      if (n % destinationsOfEach === 0) {
        const created = await request("POST", "/api/webhooks", { name: `w${n}`, team: "ops", prompt_template: "x" })
        ids.push(created.webhook.id)
      }
      const deadUrls = [`${receiver.url}/hang`, `${receiver.url}/broken`, closed]
      const url = n % 10 === 0 && n / 10 < dead ? deadUrls[(n / 10) % 3]! : `${receiver.url}/${n}`
      await request("POST", `/api/webhooks/${ids.at(-1)}/destinations`, { url })
    }
    const runs = deliveries / destinationsOfEach
    await queryPostgres(
      place.databaseUrl,
      `insert into webhook_trigger.runs (id, source, webhook_id, team, mode, status, accepted_at, admitted_at, sent_at,
         timeout_ms, prompt, variables)
       select gen_random_uuid(), 'webhook', ('{${ids.join(",")}}'::uuid[])[1 + n % ${webhooks}], 'ops', 'async', 'running',
         now(), now(), now(), 3600000, 'x', '{}' from generate_series(1, ${runs}) as n`
    )
    const begunAt = performance.now()
    for (let ended = 0; ended < runs; ended++) {
      await queryPostgres(
        place.databaseUrl,
        `update webhook_trigger.runs set status = 'success', response = 'x', finished_at = clock_timestamp(),
           recorded_at = now()
         where id = (select id from webhook_trigger.runs where status = 'running' limit 1)`
      )
      await sleep(begunAt + ((ended + 1) * 1_000) / runsPerSecond - performance.now())
    }
    const expected = (deliveries * (100 - dead)) / 100
    await until("all have arrived", () => receiver.latencies.length >= expected, 120_000, 200)
    return receiver.latencies.toSorted((a, b) => a - b)
  } catch (error) {
    throw new Error(place.output(), { cause: error })
  } finally {
    receiver.close()
    await place.close()
  }
}

export const measureDeliveries = async (services: Services, deliveries: number): Promise<Measured> => {
  const row = (dead: number, latencies: ReadonlyArray<number>) => {
    const at = (share: number) => formatted(latencies[Math.ceil(latencies.length * share) - 1]!)
    return [`${dead} of 100`, formatted(latencies.length), at(0.5), at(0.99), at(1)]
  }
  return {
    title: "Deliveries to 100 destinations",
    head: ["dead destinations", "delivered to the others", "median ms", "p99 ms (at most 2,000)", "slowest"],
    rows: [
      row(0, await latenciesWith(services, 0, deliveries)),
      row(10, await latenciesWith(services, 10, deliveries))
    ],
    notes: [
      `${formatted(deliveries)} deliveries, ${runsPerSecond * destinationsOfEach} a second, from the run's end to the arrival. A third of the dead destinations each never answer, answer 500, and refuse connections.`
    ]
  }
}
