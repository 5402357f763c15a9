import { Duration, Effect } from "effect"
import { type Grant, includesWebhook } from "../../domain/access/Grant.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { toolsOf } from "./Tool.ts"

/** How old the list may be if this server was not told of a change. */
const freshFor = Duration.seconds(1)

/** The webhooks that are tools of somebody, by name. They are read once for any number of calls, and again after a change. */
export const make = Effect.gen(function* () {
  const { webhooks } = yield* WebhookStore
  const feed = yield* ChangeFeed
  const readOffered = Effect.map(webhooks, (all) =>
    all.filter(({ enabled, mcp_tool }) => enabled && mcp_tool !== undefined)
  )
  const [offered, forget] = yield* Effect.cachedInvalidateWithTTL(readOffered, freshFor)
  yield* feed.listen((changes) => {
    if (changes.some(({ _tag }) => _tag === "WebhookChanged")) Effect.runSync(forget)
  })
  return ({ grant }: { readonly grant: Grant }) =>
    Effect.map(offered, (all) => toolsOf(all.filter((webhook) => includesWebhook(grant, webhook))))
})
