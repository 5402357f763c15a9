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
 * Settings of our sessions. Plans are kept, and a table that was small when a statement was planned grows, so
 * sequential scans are off. Compiling a statement takes longer than running any of ours, however large PostgreSQL
 * estimates the tables.
 */
export const sessionSettings = "set enable_seqscan = off; set jit = off"
