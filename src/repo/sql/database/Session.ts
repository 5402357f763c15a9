/** There are fewer texts; were there more, the others would be planned at every call. */
const most = 500

const names = new Map<string, string>()

/**
 * The name under which a statement is prepared, one and the same on every connection: planned once for each, as to plan the
 * larger statements takes longer than to run them. `undefined`: it is not to be prepared.
 */
export const preparedName = (text: string): string | undefined => {
  const known = names.get(text)
  if (known !== undefined || names.size === most) return known
  const name = `webhook_trigger_${names.size}`
  names.set(text, name)
  return name
}

/**
 * What our sessions begin with. A plan is kept, and a table that was small when it was made is not for long: what an index
 * leads to is never read row by row. And to compile a statement takes longer than to run any of ours, however large
 * PostgreSQL thinks the tables are.
 */
export const sessionSettings = "set enable_seqscan = off; set jit = off"
