import { Context, Duration, Effect, Layer, Metric, type Scope, Stream } from "effect"
import { Sse } from "effect/encoding"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { eventStream } from "../../api/run/EventStream.ts"
import type { InvalidParameter, NotAcceptable, TooManyStreams } from "../../domain/Errors.ts"
import { mark, type RunUpdate } from "../../engine/progress/RunUpdate.ts"
import * as AiSdkText from "./AiSdkText.ts"
import * as EventRequest from "./EventRequest.ts"
import * as RunEventText from "./RunEventText.ts"
import * as StreamCount from "./StreamCount.ts"

/** Maximum numbers of streams: of this process, and of one webhook, session or API key. */
export class StreamLimits extends Context.Reference("webhook-trigger/StreamLimits", {
  defaultValue: () => ({ inAll: 10_000, ofOne: 2_000 })
}) {}

const openStreams = Metric.gauge("webhook_run_event_streams", { description: "Open streams of events of runs." })

const encoder = new TextEncoder()
const encodeText = (text: string): Uint8Array => encoder.encode(text)

/** Sent first, so that the headers are sent as well. After this time, a client connects again. */
const retry = encodeText(Sse.encoder.write(new Sse.Retry({ duration: Duration.seconds(2), lastEventId: undefined })))

/** All followers of a run get the same updates. They are encoded once, while one of them is sent. */
const remembered = <Update extends RunUpdate>(encode: (update: Update) => string) => {
  const known = new WeakMap<Update, Uint8Array>()
  return (update: Update): Uint8Array => {
    const bytes = known.get(update) ?? encodeText(encode(update))
    known.set(update, bytes)
    return bytes
  }
}

/** The events of runs, as streams to HTTP clients. */
export class RunEvents extends Context.Service<
  RunEvents,
  {
    readonly enter: StreamCount.Enter
    /** For the webhook's caller. */
    readonly respond: (
      updates: Stream.Stream<RunUpdate>,
      format: EventRequest.Format
    ) => HttpServerResponse.HttpServerResponse
    /** Answers a request for the events of a run, which it gets from `follow`. */
    readonly answer: <E, R>(
      request: HttpServerRequest.HttpServerRequest,
      owner: StreamCount.Owner,
      follow: (received: number) => Effect.Effect<Stream.Stream<RunUpdate>, E, R | Scope.Scope>
    ) => Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      E | InvalidParameter | NotAcceptable | TooManyStreams,
      R | Scope.Scope
    >
  }
>()("webhook-trigger/RunEvents") {
  static readonly layer: Layer.Layer<RunEvents> = Layer.effect(
    RunEvents,
    Effect.gen(function* () {
      const { inAll, ofOne } = yield* StreamLimits
      const enter = StreamCount.make(openStreams, inAll, () => ofOne)

      const encodeEvent = remembered(RunEventText.encode)
      const encodeForCaller = remembered((update) => RunEventText.encode(RunEventText.withoutSteps(update)))
      const encodeProgress = remembered(AiSdkText.progress)

      const encoded = (updates: Stream.Stream<RunUpdate>, format: EventRequest.Format, isCaller: boolean) => {
        if (format === "events") return Stream.map(updates, isCaller ? encodeForCaller : encodeEvent)
        const encode = AiSdkText.make(encodeProgress, encodeText)
        return Stream.flattenIterable(Stream.map(updates, encode))
      }

      const respond = (updates: Stream.Stream<RunUpdate>, format: EventRequest.Format, isCaller = true) =>
        HttpServerResponse.stream(Stream.concat(Stream.make(retry), encoded(updates, format, isCaller)), {
          contentType: eventStream,
          headers: {
            // Keeps proxies such as nginx from buffering the events.
            "x-accel-buffering": "no",
            ...(format === "ai-sdk" && AiSdkText.headers)
          }
        })

      return RunEvents.of({
        enter,
        respond,
        answer: (request, owner, follow) =>
          Effect.gen(function* () {
            const format = yield* Effect.fromResult(EventRequest.formatOf(request))
            // The AI SDK reads a stream from its beginning.
            const received =
              format === "events" ? yield* Effect.fromResult(EventRequest.receivedOf(request)) : mark.nothing
            yield* enter(owner)
            const updates = yield* follow(received)
            return received === mark.ended
              ? HttpServerResponse.empty({ status: 204 })
              : respond(updates, format, owner.of === "webhook")
          })
      })
    })
  )
}
