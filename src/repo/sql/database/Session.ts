/**
 * Statements that a connection keeps prepared. The least recently used one is closed for another: a plan takes a tenth of a
 * megabyte, the larger ones more, in each connection.
 */
const mostPrepared = 100

/** A text is prepared at its third use by this process. A search with rare conditions is not used as often. */
const usesBefore = 2
const mostCounted = 1_000
const uses = new Map<string, number>()

const isUsedOften = (text: string): boolean => {
  const count = uses.get(text) ?? 0
  if (count >= usesBefore) return true
  uses.delete(text)
  uses.set(text, count + 1)
  if (uses.size > mostCounted) for (const oldest of uses.keys()) return uses.delete(oldest) && false
  return false
}

/**
 * The statements that a connection has prepared, so that it plans each once: planning the larger ones takes longer than running
 * them. `close` forgets one there.
 */
export const preparedStatements = (close: (name: string) => void) => {
  const names = new Map<string, string>()
  let count = 0
  /** The name under which a statement is, or is to be, prepared. `undefined`: it is not. */
  return (text: string): string | undefined => {
    const known = names.get(text)
    if (known === undefined && !isUsedOften(text)) return undefined
    const name = known ?? `webhook_trigger_${count++}`
    // The map is in the order of use.
    names.delete(text)
    names.set(text, name)
    if (names.size > mostPrepared) {
      const [oldest, oldestName] = names.entries().next().value!
      names.delete(oldest)
      close(oldestName)
    }
    return name
  }
}

/**
 * Plans are kept, and a table that was small when a statement was planned grows, so sequential scans are off. Compiling
 * a statement takes longer than running any of ours, however large PostgreSQL estimates the tables.
 */
export const planSettings = "set enable_seqscan = off; set jit = off"

/**
 * Milliseconds. A statement that waits for a lock gives up first, then the server ends it, then we close the
 * connection.
 */
const lockTimeout = 3_000
const statementTimeout = 5_000
export const silence = 7_000

/**
 * Settings of our sessions, made after connecting: PgBouncer refuses most of them as parameters of the connection, and
 * those in the URL would override ours.
 */
export const sessionSettings = [
  planSettings,
  `set statement_timeout = ${statementTimeout}`,
  `set lock_timeout = ${lockTimeout}`,
  `set idle_in_transaction_session_timeout = ${statementTimeout}`
].join("; ")

/** `on` for a replica, and for a former primary to which a failover has left connections. */
export const readOnly = "current_setting('transaction_read_only')"
