/** Follows a run by its events, across lost connections. */
import { Data, Duration, Effect, Option, Result, Schedule, Schema, Stream } from "effect"
import { Argument } from "effect/cli"
import { Sse } from "effect/encoding"
import { HttpClient, HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { eventStream } from "../../api/run/EventStream.ts"
import { type RunEvent, runEvents } from "../../api/run/RunEvents.ts"
import { type FinalStatus, finalStatuses } from "../../domain/run/RunStatus.ts"
import { remote } from "../Command.ts"
import { exitCodes, Failure, fromClient } from "../Failure.ts"
import { printError } from "../Output.ts"
import { findRun, noRun } from "../References.ts"
import { failUnlessSuccess, sayHowToReply } from "./Outcome.ts"
import * as RunScreen from "./RunScreen.ts"

export interface Source {
  /** The server's address. */
  readonly url: string
  readonly json: boolean
  /** The title for a 404. */
  readonly notFound: string
  /** Requests the events of a run. */
  readonly events: (run_id: string) => HttpClientRequest.HttpClientRequest
}

export const acceptEvents = HttpClientRequest.accept(eventStream)

export const isEventStream = ({ headers }: HttpClientResponse.HttpClientResponse): boolean =>
  headers["content-type"]?.startsWith(eventStream) === true

/** The server sends a comment every 15 seconds, so a longer silence is a lost connection. */
const silence = Duration.seconds(45)

const interval = Duration.seconds(1)

/** A server that is not back within this time is given up. */
const patience = Duration.minutes(2)

/** More than an answer can have. */
const maxEventSize = 16 * 1024 * 1024

class Lost extends Data.TaggedError("Lost") {}

const isTransient = (error: unknown): boolean => {
  if (!HttpClientError.isHttpClientError(error)) return false
  const { response } = error
  return response === undefined || response.status >= 500 || response.status === 429
}

const isKnown = (name: string): name is RunEvent["event"] => Object.hasOwn(runEvents, name)

interface Received {
  readonly id: string | undefined
  readonly event: RunEvent
}

/** Other events are ignored: a later version may send more. */
const decode = ({ data, event, id }: Sse.Event): ReadonlyArray<Received> => {
  if (!isKnown(event)) return []
  const decoded = Schema.decodeUnknownResult(Schema.fromJsonString(runEvents[event] as Schema.Codec<unknown>))(data)
  return Result.isSuccess(decoded) ? [{ id, event: { event, data: decoded.success } as RunEvent }] : []
}

const eventsOf = (response: HttpClientResponse.HttpClientResponse): Stream.Stream<Received, Lost> =>
  Stream.suspend(() => {
    const received: Array<Received> = []
    const parser = Sse.makeParser((event) => void (event._tag === "Event" && received.push(...decode(event))), {
      maxEventSize
    })
    return response.stream.pipe(
      Stream.mapError(() => new Lost()),
      Stream.timeoutOrElse({ duration: silence, orElse: () => Stream.fail(new Lost()) }),
      Stream.decodeText,
      Stream.flatMap((text) => {
        parser.feed(text)
        return Stream.fromIterable(received.splice(0))
      })
    )
  })

type Ended = Extract<RunEvent, { readonly event: FinalStatus }>

const isEnd = (event: RunEvent): event is Ended => (finalStatuses as ReadonlyArray<string>).includes(event.event)

/** Requests the events; a refusal is a `Failure`. */
const open = ({ events, notFound, url }: Source, run_id: string) =>
  Effect.catch(connect(events(run_id)), (error) => Effect.flatMap(fromClient(url, notFound)(error), Effect.fail))

const connect = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.flatMap(HttpClient.HttpClient, (client) => HttpClient.filterStatusOk(client).execute(acceptEvents(request)))

const givenUp = (run_id: string) =>
  new Failure({
    exit: exitCodes.outOfReach,
    title: "The connection was lost",
    detail: `the run continues; ${howToGoOn(run_id)}`
  })

const howToGoOn = (run_id: string): string => `watch it with webhook-trigger run watch ${run_id}`

/** Reads the events of a run, beginning with an open stream, until it ends. */
export const untilEnd = Effect.fn("Cli.untilEnd")(function* (
  source: Source,
  run_id: string,
  first: HttpClientResponse.HttpClientResponse,
  show: (event: RunEvent) => Effect.Effect<void> = () => Effect.void
) {
  let lastId: string | undefined
  let end: Ended | undefined

  const receive = ({ event, id }: Received) => {
    lastId = id ?? lastId
    if (isEnd(event)) end = event
    return show(event)
  }
  const read = (response: HttpClientResponse.HttpClientResponse) =>
    eventsOf(response).pipe(
      Stream.takeUntil(({ event }) => isEnd(event)),
      Stream.runForEach(receive),
      Effect.catchTag("Lost", () => Effect.void)
    )
  const again = Effect.suspend(() => {
    const request = source.events(run_id)
    return connect(lastId === undefined ? request : HttpClientRequest.setHeader(request, "last-event-id", lastId))
  }).pipe(
    Effect.retry({ while: isTransient, schedule: Schedule.upTo(Schedule.spaced(interval), { duration: patience }) }),
    Effect.catch((error) =>
      isTransient(error)
        ? Effect.fail(givenUp(run_id))
        : Effect.flatMap(fromClient(source.url, source.notFound)(error), Effect.fail)
    )
  )

  return yield* Effect.gen(function* () {
    yield* read(first)
    while (end === undefined) {
      yield* Effect.sleep(interval)
      yield* read(yield* again)
    }
    return end as Ended
  }).pipe(Effect.onInterrupt(() => printError(`\nThe run ${run_id} continues; ${howToGoOn(run_id)}`)))
})

/** Prints the events of a run, beginning with an open stream, until it ends. Fails unless it ends as a success. */
export const follow = (source: Source, run_id: string, first: HttpClientResponse.HttpClientResponse) =>
  Effect.flatMap(untilEnd(source, run_id, first, RunScreen.make(source.json).show), ({ data, event }) =>
    event === "success" && !source.json
      ? sayHowToReply({ run_id, asks: data.asks })
      : failUnlessSuccess(event === "cancelled" ? { run_id, status: event } : data)
  )

export const watch = remote(
  "watch",
  {
    about: "Follow a run until it ends",
    details:
      "Prints the text as the agent writes it, and what it does on standard error. Reconnects by itself. The exit code is the same as that of trigger --wait. With --json, prints one line for each event.",
    examples: ["webhook-trigger run watch last", "webhook-trigger run watch 01890a5d-ac96-774b-bcce-b302099a8057"]
  },
  {
    id: Argument.String("run-id").pipe(
      Argument.withDescription("The run's ID, the beginning or end of one, or `last` for the newest run")
    )
  },
  ({ id }, connection) => {
    const { adminKey, json, url } = connection
    const source: Source = {
      ...{ url, json, notFound: noRun(id) },
      events: (run_id) => {
        const request = HttpClientRequest.get(`${url}/api/runs/${encodeURIComponent(run_id)}/events`)
        return Option.isSome(adminKey) ? HttpClientRequest.bearerToken(request, adminKey.value) : request
      }
    }
    return Effect.gen(function* () {
      const run_id = yield* findRun(connection, id)
      yield* follow(source, run_id, yield* open(source, run_id))
    })
  }
)
