/** More than there are: beyond this number, statements would be planned at every call. */
const most = 500

const names = new Map<string, string>()

/**
 * The name under which a statement is prepared, the same on every connection. So each connection plans it once:
 * planning the larger statements takes longer than running them. `undefined`: not prepared.
 */
export const preparedName = (text: string): string | undefined => {
  const known = names.get(text)
  if (known !== undefined || names.size === most) return known
  const name = `webhook_trigger_${names.size}`
  names.set(text, name)
  return name
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
