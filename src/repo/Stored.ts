/** What every driver stores in the same way. */
/**
 * Text as every driver can store it: PostgreSQL takes no U+0000, and UTF-8 no lone surrogate; each becomes U+FFFD. So a
 * leader's answer is stored in any case.
 */
export const storable = (text: string): string =>
  text.isWellFormed() && !text.includes("\0") ? text : text.replace(/[\0\p{Surrogate}]/gu, "\ufffd")

/** Of several items for one run, the first, in the order of the runs' first items. */
export const firstOfEach = <A extends { readonly run_id: string }>(items: Iterable<A>): ReadonlyArray<A> => {
  const first = new Map<string, A>()
  for (const item of items) if (!first.has(item.run_id)) first.set(item.run_id, item)
  return [...first.values()]
}
