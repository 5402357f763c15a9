import { Duplex } from "node:stream"
import { setImmediate } from "node:timers/promises"
import type { PGlite } from "@electric-sql/pglite"

export interface PgliteSocketOptions {
  /** Called with the payload of each notification. */
  readonly notify: (payload: string) => void
  /** Runs before each statement outside a transaction. */
  readonly before?: () => Promise<unknown> | undefined
}

/** `AuthenticationOk`, `BackendKeyData` and `ReadyForQuery`: PGlite has one session, which has begun. */
const welcome = Buffer.from("R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\0\0\0\0\0Z\0\0\0\x05I", "latin1")
const [notification, terminate] = [..."AX"].map((type) => type.charCodeAt(0))
const idle = "I".charCodeAt(0)
/** The type and the length of a message. */
const header = 5

/** A stream that the driver takes for a connection to PostgreSQL: its messages go to PGlite, in this process. */
export class PgliteSocket extends Duplex {
  /** No statement runs, and no transaction is open. */
  isIdle = true
  private hasBegun = false
  private readonly db: PGlite
  private readonly options: PgliteSocketOptions

  constructor(db: PGlite, options: PgliteSocketOptions) {
    super({ read: () => {} })
    this.db = db
    this.options = options
  }

  /** Each statement is one write. */
  override _write(messages: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.answer(messages).then((answer) => {
      if (answer !== undefined) this.push(answer)
      done()
    }, done)
  }

  override _final(done: () => void): void {
    this.push(null)
    done()
  }

  private async answer(messages: Buffer): Promise<Buffer | undefined> {
    if (messages[0] === terminate) return undefined
    if (!this.hasBegun) {
      this.hasBegun = true
      return welcome
    }
    const isFirst = this.isIdle
    this.isIdle = false
    // A statement blocks the event loop, so there is a pause between two: requests arrive in it, and share group commits
    // (without it, 64 callers get 42 triggers a second).
    await setImmediate()
    if (isFirst) await this.options.before?.()
    const parts: Array<Buffer> = []
    await this.db.runExclusive(() =>
      // The part is in memory that PGlite uses again.
      this.db.execProtocolRawStream(messages, { onRawData: (part) => parts.push(Buffer.from(part)) })
    )
    const answer = Buffer.concat(parts)
    this.isIdle = answer.at(-1) === idle
    this.notifyOf(answer)
    return answer
  }

  private notifyOf(answer: Buffer): void {
    for (let start = 0; start < answer.length; start += 1 + answer.readInt32BE(start + 1)) {
      if (answer[start] !== notification) continue
      // After the number of the process: the channel and the payload, each with a zero byte.
      const payload = answer.indexOf(0, start + header + 4) + 1
      this.options.notify(answer.toString("utf8", payload, answer.indexOf(0, payload)))
    }
  }
}
