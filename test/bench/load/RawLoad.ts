/** The load generator for machines without `wrk`: prepared requests over plain sockets, with minimal HTTP. */
import { once } from "node:events"
import { connect } from "node:net"
import { body, type Load } from "./Load.ts"

const timeout = 60_000

const requestTo = (url: URL): Buffer =>
  Buffer.from(
    [
      `POST ${url.pathname}${url.search} HTTP/1.1`,
      `host: ${url.host}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      "",
      body
    ].join("\r\n")
  )

/** The status of a response, once it is complete. */
const statusOf = (answer: Buffer): number | undefined => {
  const end = answer.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const head = answer.toString("latin1", 0, end)
  const length = /^content-length: (\d+)/im.exec(head)
  if (length === null) throw new Error(`an answer without a length: ${head}`)
  return answer.length < end + 4 + Number(length[1]) ? undefined : Number(head.slice(9, 12))
}

interface Tally {
  readonly millis: Array<number>
  refused: number
  broken: number
}

/** One connection. Calls `next` for each request until there is none. */
const sendOver = async (url: URL, next: () => Buffer | undefined, tally: Tally): Promise<void> => {
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
  await once(socket, "connect")
  socket.setTimeout(timeout, () => socket.destroy(new Error("timeout")))
  let received: Buffer = Buffer.alloc(0)
  let sent = 0
  const send = () => {
    const request = next()
    if (request === undefined) return socket.end()
    sent = performance.now()
    return socket.write(request)
  }
  socket.on("data", (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const status = statusOf(received)
    if (status === undefined) return
    received = Buffer.alloc(0)
    tally.millis.push(performance.now() - sent)
    if (status < 200 || status > 299) tally.refused++
    send()
  })
  socket.on("error", () => tally.broken++)
  send()
  await once(socket, "close")
}

export const sendRaw: Load = async ({ connections, seconds, urls }) => {
  const requests = urls.map((url) => requestTo(new URL(url)))
  const tally: Tally = { millis: [], refused: 0, broken: 0 }
  const begin = performance.now()
  let last = 0
  const next = () => (performance.now() - begin < seconds * 1000 ? requests[last++ % requests.length] : undefined)
  const url = new URL(urls[0]!)
  await Promise.all(Array.from({ length: connections }, () => sendOver(url, next, tally)))
  const { broken, refused } = tally
  const millis = tally.millis.sort((a, b) => a - b)
  const percentile = (share: number) => millis[Math.floor(millis.length * share)] ?? 0
  return {
    requests: millis.length,
    seconds: (performance.now() - begin) / 1000,
    refused,
    broken,
    p50: percentile(0.5),
    p99: percentile(0.99)
  }
}
