import { Context, DateTime, Duration, Effect, Latch, Layer, Option, Schema, type Scope, Stream } from "effect"
import { Sse } from "effect/encoding"
import { ChangeEvent } from "../../api/ChangeEvent.ts"
import type { Grant } from "../../domain/access/Grant.ts"
import type { TooManyStreams } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { RunState } from "../../domain/run/RunState.ts"
import type { TeamName } from "../../domain/Team.ts"
import { OwnerStore } from "../../repo/access/OwnerStore.ts"
import { type Change, ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import type { StreamOwner } from "../access/ActorStreams.ts"
import * as EventStreams from "./EventStreams.ts"

/** Changes within this time are one event: a busy server has thousands a second. */
const window = Duration.millis(250)

/** Keeps proxies from closing a connection that looks idle. */
const heartbeat = Duration.seconds(15)

/** After this time, the client reconnects and authenticates again, so a stream does not outlive its session. */
const maxConnectionAge = Duration.minutes(10)

/** Maximum number of runs, and of webhooks, in an event. */
const mostNamed = 50

/** Maximum difference between servers' clocks, and between a run's acceptance and its commit. */
const slack = Duration.seconds(5)

/** Runs whose last event is remembered, so that it is not repeated. */
const mostRemembered = 2_000

const defaultLimits: EventStreams.Limits = { inAll: 500, ofOneSession: 10, ofOneKey: 50, buffered: 16 }

const retry = new TextEncoder().encode(
  Sse.encoder.write(new Sse.Retry({ duration: Duration.seconds(2), lastEventId: undefined }))
)

/** Written by hand, because the encoder writes no comments. */
const comment = ":\n\n"

const encode = Schema.encodeSync(Schema.fromJsonString(ChangeEvent))

const changeEvent = (event: ChangeEvent): string =>
  Sse.encoder.write({ _tag: "Event", event: "change", id: undefined, data: encode(event) })

/** The changes since the last event. */
class Pending {
  readonly runs = new Set<RunId>()
  readonly teams = new Set<TeamName>()
  readonly webhooks = new Set<WebhookId>()
  readonly requests = new Set<WebhookId>()
  incomplete = false

  add(change: Change): void {
    switch (change._tag) {
      case "RunAccepted":
        this.name(this.teams, change.team)
        break
      case "RunChanged":
      case "RunStarted":
      case "RunEnded":
        this.name(this.runs, change.run_id)
        break
      case "WebhookChanged":
        this.name(this.webhooks, change.webhook_id)
        break
      case "RequestsStored":
        this.name(this.requests, change.webhook_id)
        break
      case "KeyTried":
        break
    }
  }

  get isEmpty(): boolean {
    return this.runs.size + this.teams.size + this.webhooks.size + this.requests.size === 0
  }

  private name<A>(names: Set<A>, name: A): void {
    if (names.size < mostNamed || names.has(name)) names.add(name)
    else this.incomplete = true
  }
}

/** Whether a run's state is new to the clients. Remembers it. */
const makeIsNews = () => {
  const known = new RecentMap<RunId, string>(mostRemembered)
  return ({ run_id, status, held_for, held_until, joined, started_at, finished_at }: RunState): boolean => {
    const times = [held_until, started_at, finished_at].map((time) => time?.epochMilliseconds)
    const state = [status, held_for, joined, ...times].join()
    if (known.get(run_id) === state) return false
    known.set(run_id, state)
    return true
  }
}

const webhooksIn = ({ requests, runs, webhooks }: ChangeEvent): ReadonlyArray<WebhookId> => [
  ...new Set([...webhooks, ...requests, ...runs.flatMap(({ webhook_id }) => webhook_id ?? [])])
]

/**
 * The part of an event for a client that is limited to these teams. The team of a deleted webhook is unknown: then
 * the client learns only that it must load everything again.
 */
const partFor = (
  teams: ReadonlyArray<TeamName>,
  event: ChangeEvent,
  owners: Option.Option<ReadonlyMap<WebhookId, TeamName>>
): ChangeEvent => {
  if (Option.isNone(owners)) return { runs: [], webhooks: [], requests: [], incomplete: true }
  const isOf = (team: TeamName | undefined) => team !== undefined && teams.includes(team)
  const isOwned = (id: WebhookId) => isOf(owners.value.get(id))
  return {
    runs: event.runs.filter(({ team, webhook_id }) => isOf(team) && (webhook_id === undefined || isOwned(webhook_id))),
    webhooks: event.webhooks.filter(isOwned),
    requests: event.requests.filter(isOwned),
    incomplete: event.incomplete || event.webhooks.some((id) => !owners.value.has(id))
  }
}

/** Changes as server-sent events. They come through the database, so every replica sends all changes. */
export class Events extends Context.Service<
  Events,
  {
    /**
     * In the format of the HTML standard, section 9.2, until the scope closes. The numbers of streams per session, API key
     * and process are limited. With `teams`, only changes of what is of these teams. `disconnect` is called if the client reads too slowly.
     */
    readonly open: (
      owner: StreamOwner,
      teams: Grant["teams"],
      disconnect: () => void
    ) => Effect.Effect<Stream.Stream<Uint8Array>, TooManyStreams, Scope.Scope>
  }
>()("webhook-trigger/Events") {
  static readonly layerWith = (
    limits: Partial<EventStreams.Limits>
  ): Layer.Layer<Events, never, ChangeFeed | HistoryStore | OwnerStore> =>
    Layer.effect(
      Events,
      Effect.gen(function* () {
        const feed = yield* ChangeFeed
        const history = yield* HistoryStore
        const { teamsOf } = yield* OwnerStore
        const streams = EventStreams.make({ ...defaultLimits, ...limits })
        const isNews = makeIsNews()

        let pending = new Pending()
        const changed = yield* Latch.make()
        yield* feed.listen((changes) => {
          if (streams.isEmpty()) return
          for (const change of changes) pending.add(change)
          if (!pending.isEmpty) changed.openUnsafe()
        })

        /** Read once for all clients; none while the database is unreachable. */
        const statesOf = ({ runs, teams }: Pending) =>
          runs.size + teams.size === 0
            ? Effect.succeed([])
            : Effect.flatMap(DateTime.now, (now) =>
                history.states({
                  run_ids: [...runs],
                  teams: [...teams],
                  since: DateTime.subtractDuration(now, slack),
                  limit: mostNamed
                })
              )
        const send = Effect.gen(function* () {
          const sent = pending
          pending = new Pending()
          changed.closeUnsafe()
          const states = yield* Effect.orElseSucceed(statesOf(sent), () => undefined)
          const news = (states ?? []).filter(isNews)
          const event: ChangeEvent = {
            runs: news.slice(-mostNamed),
            webhooks: [...sent.webhooks],
            requests: [...sent.requests],
            incomplete: sent.incomplete || states === undefined || news.length > mostNamed
          }
          const owners = streams.isAnyLimited() ? yield* Effect.option(teamsOf(webhooksIn(event))) : Option.none()
          streams.publish((teams) => {
            const own = teams === undefined ? event : partFor(teams, event, owners)
            const named = own.runs.length + own.webhooks.length + own.requests.length
            return named > 0 || own.incomplete ? changeEvent(own) : undefined
          })
        })
        yield* changed.await.pipe(
          Effect.andThen(Effect.sleep(window)),
          Effect.andThen(send),
          Effect.forever,
          Effect.forkScoped
        )
        yield* Effect.sync(() => streams.publish(() => comment)).pipe(
          Effect.delay(heartbeat),
          Effect.forever,
          Effect.forkScoped
        )

        return Events.of({
          open: (owner, teams, disconnect) =>
            Effect.map(streams.open(owner, teams, disconnect), (events) =>
              Stream.make(retry).pipe(Stream.concat(events), Stream.interruptWhen(Effect.sleep(maxConnectionAge)))
            )
        })
      })
    )

  static readonly layer = Events.layerWith({})
}
