import { Duration, Effect } from "effect"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { toolsOf } from "./Tool.ts"

/** How old the list may be if this server was not told of a change. */
const freshFor = Duration.seconds(1)

/** The tools of all webhooks, by name. Read once for any number of calls, and again after a change. */
export const make = Effect.gen(function* () {
  const { webhooks } = yield* WebhookStore
  const feed = yield* ChangeFeed
  const [tools, forget] = yield* Effect.cachedInvalidateWithTTL(Effect.map(webhooks, toolsOf), freshFor)
  yield* feed.listen((changes) => {
    if (changes.some(({ _tag }) => _tag === "WebhookChanged")) Effect.runSync(forget)
  })
  return tools
})
