import { Effect, Schema } from "effect"

/** The shape of every list: entries, and how to get more. */
export const listFields = <A, I>(entry: Schema.Codec<A, I>, order: string) => ({
  data: Schema.Array(entry).annotate({ description: order }),
  next_cursor: Schema.NullOr(Schema.String).annotate({
    description: "`cursor` of the next page; null on the last page, and if the list is not paged."
  })
})

/** Gives entries as a list that is not paged. */
export const asWhole = <A, E, R>(entries: Effect.Effect<ReadonlyArray<A>, E, R>) =>
  Effect.map(entries, (data) => ({ data, next_cursor: null }))
