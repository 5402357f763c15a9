import { Chunk, Context, Duration, Effect, Layer, Stream } from "effect"
import { type Change, Repo } from "../repo/Repo.ts"

/** Changes within this time are told together: a busy server has thousands a second. */
const together = Duration.millis(250)

/** Keeps proxies from taking the silence for a dead connection. */
const heartbeat = Duration.seconds(15)

/** After this a client connects anew, and shows again that it may: a session does not live on in a stream. */
const longest = Duration.minutes(10)

/** What a reader has to look at again. */
const kindOf = (change: Change): "runs" | "webhooks" | undefined => {
  switch (change._tag) {
    case "RunAccepted":
    case "RunStarted":
    case "RunEnded":
      return "runs"
    case "WebhookChanged":
      return "webhooks"
    case "LeaseReleased":
      return undefined
  }
}

/** Changes as server-sent events. They come by way of the database, so every replica tells of what any of them did. */
export class Events extends Context.Tag("webhook-trigger/Events")<
  Events,
  {
    /** In the format of the HTML standard, section 9.2. */
    readonly stream: Stream.Stream<string>
  }
>() {
  static readonly layer: Layer.Layer<Events, never, Repo> = Layer.scoped(
    Events,
    Effect.gen(function* () {
      const repo = yield* Repo
      // One look at the changes for all readers.
      const changes = yield* Stream.unwrapScoped(Effect.map(repo.changes, Stream.fromQueue)).pipe(
        Stream.groupedWithin(10_000, together),
        Stream.map((all) => [...new Set(Chunk.toReadonlyArray(all).flatMap((change) => kindOf(change) ?? []))]),
        Stream.filter((kinds) => kinds.length > 0),
        Stream.map((kinds) => `event: change\ndata: ${kinds.join(",")}\n\n`),
        Stream.share({ capacity: 16, strategy: "sliding" })
      )
      return Events.of({
        stream: Stream.make("retry: 2000\n\n").pipe(
          Stream.concat(Stream.merge(changes, Stream.as(Stream.tick(heartbeat), ":\n\n"))),
          Stream.interruptAfter(longest)
        )
      })
    })
  )
}
