/** Keeps an agent that calls the leader's tools without end from taking the leader's time. */
import { setTimeout } from "node:timers/promises"

/** Calls in a row, and the milliseconds that each one more waits. A call costs a tenth of that. */
const atOnce = 20
const pause = 2
/** Each of them takes time, too. */
const bytesPerMillisecond = 4096
/** No call is longer, in bytes: far more than a question with all its suggestions. */
const longest = 1024 * 1024

const lineFeed = 10

/** The pace of one run, however many connections its programs open. */
export const makePace = () => {
  /** When the calls so far are paid for. */
  let until = 0

  const due = (): number => until - performance.now() - atOnce * pause

  /** The same bytes, up to so many lines at a time. Ends with an error at a line that is too long. */
  return async function* paced(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let open = 0
    for await (const chunk of chunks) {
      for (let rest = chunk; rest.length > 0; ) {
        const end = rest.indexOf(lineFeed)
        const line = end === -1 ? rest : rest.subarray(0, end + 1)
        open += line.length
        if (open > longest) throw new Error("a call is too long")
        if (end !== -1) open = 0
        until = Math.max(until, performance.now()) + (end === -1 ? 0 : pause) + line.length / bytesPerMillisecond
        const wait = due()
        if (wait > 0) await setTimeout(wait)
        yield line
        rest = rest.subarray(line.length)
      }
    }
  }
}
