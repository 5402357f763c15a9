import * as Sse from "@effect/experimental/Sse"
import { Chunk, Context, Duration, Effect, Layer, Stream } from "effect"
import { type Change, ChangeFeed, subscribe } from "../repo/ChangeFeed.ts"

/** Changes within this time are sent as one event: a busy server has thousands a second. */
const window = Duration.millis(250)

/** Keeps proxies from closing a connection that looks idle. */
const heartbeat = Duration.seconds(15)

/** Then the client reconnects and authenticates again: a session does not outlive itself in a stream. */
const maxConnectionAge = Duration.minutes(10)

const retry = Sse.encoder.write(new Sse.Retry({ duration: Duration.seconds(2), lastEventId: undefined }))

/** By hand: the encoder writes no comments. */
const comment = ":\n\n"

const changeEvent = (kinds: ReadonlyArray<string>): string =>
  Sse.encoder.write({ _tag: "Event", event: "change", id: undefined, data: kinds.join() })

/** What a client should read again. */
const kindOf = (change: Change): "runs" | "webhooks" | undefined => {
  switch (change._tag) {
    case "RunAccepted":
    case "RunAdmitted":
    case "RunStarted":
    case "RunEnded":
      return "runs"
    case "WebhookChanged":
      return "webhooks"
    case "LeaseReleased":
      return undefined
  }
}

/** Changes as server-sent events. They come through the database, so every replica sends what any of them did. */
export class Events extends Context.Tag("webhook-trigger/Events")<
  Events,
  {
    /** In the format of the HTML standard, section 9.2. */
    readonly stream: Stream.Stream<string>
  }
>() {
  static readonly layer: Layer.Layer<Events, never, ChangeFeed> = Layer.scoped(
    Events,
    Effect.gen(function* () {
      const feed = yield* ChangeFeed
      // All clients share one subscription.
      const changes = yield* Stream.unwrapScoped(Effect.map(subscribe(feed), Stream.fromQueue)).pipe(
        Stream.groupedWithin(10_000, window),
        Stream.map((all) => [...new Set(Chunk.toReadonlyArray(all).flatMap((change) => kindOf(change) ?? []))]),
        Stream.filter((kinds) => kinds.length > 0),
        Stream.map(changeEvent),
        Stream.share({ capacity: 16, strategy: "sliding" })
      )
      return Events.of({
        stream: Stream.make(retry).pipe(
          Stream.concat(Stream.merge(changes, Stream.as(Stream.tick(heartbeat), comment))),
          Stream.interruptAfter(maxConnectionAge)
        )
      })
    })
  )
}
