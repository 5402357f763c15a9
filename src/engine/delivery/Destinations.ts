import { randomBytes } from "node:crypto"
import { Context, DateTime, Duration, Effect, Function, Layer, Redacted } from "effect"
import type { AuditEvent } from "../../domain/access/AuditEvent.ts"
import type { DeliveryAttempt, EventDelivery } from "../../domain/delivery/Delivery.ts"
import {
  type Destination,
  type DestinationRow,
  maxDestinations,
  toDestination
} from "../../domain/delivery/Destination.ts"
import { type DestinationKind, kindOf } from "../../domain/delivery/DestinationKind.ts"
import { Invalid, type InvalidParameter, type NotFound, type Unavailable } from "../../domain/Errors.ts"
import { type DestinationId, makeDestinationId } from "../../domain/Id.ts"
import { deliveryIdOf, destinationIdOf, runIdOf, webhookIdOf } from "../../domain/ParsedId.ts"
import { secretHintOf } from "../../domain/webhook/SecretHint.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import type { SecretKeyStore } from "../../repo/access/SecretKeyStore.ts"
import { type DeliveryPage, type DeliveryQuery, DeliveryStore } from "../../repo/delivery/DeliveryStore.ts"
import { DestinationStore, type Owner } from "../../repo/delivery/DestinationStore.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as Audit from "../access/Audit.ts"
import { authorsOfUrl } from "../trigger/OwnMessages.ts"
import * as Sealing from "../verify/Sealing.ts"
import * as Chains from "./Chains.ts"
import * as DestinationChecks from "./DestinationChecks.ts"
import { eventsOf } from "./DestinationChecks.ts"
import { Outbox } from "./Outbox.ts"
import * as SampleEvent from "./SampleEvent.ts"

/** The destination with its signing secret: the only time it is shown. Only events are signed. */
export interface WithSecret {
  readonly destination: Destination
  readonly secret?: Redacted.Redacted
}

/** A filter for a webhook's deliveries, with IDs as a caller wrote them. */
interface DeliveryFilter extends Pick<DeliveryQuery, "cursor" | "limit" | "status"> {
  readonly destination_id?: string
  readonly run_id?: string
}

/** The webhook's ID as given in the URL; `null` for alert destinations. */
type OwnerId = string | null

/** Managing destinations, and what is sent to them. Text that cannot be an id is `NotFound`. */
export class Destinations extends Context.Service<
  Destinations,
  {
    readonly list: (owner: OwnerId) => Effect.Effect<ReadonlyArray<Destination>, NotFound | Unavailable>
    readonly show: (owner: OwnerId, id: string) => Effect.Effect<Destination, NotFound | Unavailable>
    /** From an unchecked draft. Lists every fault. */
    readonly create: (owner: OwnerId, draft: unknown) => Effect.Effect<WithSecret, Invalid | NotFound | Unavailable>
    /** Checks a draft of a webhook that is yet to be created. */
    readonly check: (draft: unknown) => Effect.Effect<unknown, Invalid | Unavailable>
    readonly edit: (
      owner: OwnerId,
      id: string,
      edit: unknown
    ) => Effect.Effect<Destination, Invalid | NotFound | Unavailable>
    readonly remove: (owner: OwnerId, id: string) => Effect.Effect<void, NotFound | Unavailable>
    /** Gives it another secret. Until `overlap` has passed, deliveries are signed with both. */
    readonly rotateSecret: (
      owner: OwnerId,
      id: string,
      overlap: Duration.Duration
    ) => Effect.Effect<WithSecret, Invalid | NotFound | Unavailable>
    /** Sends the event of the webhook's last run again, as a test, once and now. */
    readonly test: (owner: OwnerId, id: string) => Effect.Effect<DeliveryAttempt, NotFound | Unavailable>
    readonly deliveries: (
      owner: OwnerId,
      filter: DeliveryFilter
    ) => Effect.Effect<DeliveryPage, InvalidParameter | NotFound | Unavailable>
    readonly delivery: (owner: OwnerId, id: string) => Effect.Effect<EventDelivery, NotFound | Unavailable>
    /**
     * Sends it again, whatever came of it. `Invalid`: its destination is off, its run is of another team, or it starts runs
     * of a webhook that the actor cannot use.
     */
    readonly resend: (owner: OwnerId, id: string) => Effect.Effect<EventDelivery, Invalid | NotFound | Unavailable>
    /** Sends all again that failed since then, of runs of the webhook's current team; returns how many. */
    readonly resendFailed: (
      owner: OwnerId,
      id: string,
      since: DateTime.Utc
    ) => Effect.Effect<number, Invalid | NotFound | Unavailable>
  }
>()("webhook-trigger/Destinations") {
  static readonly layer: Layer.Layer<
    Destinations,
    never,
    AuditStore | DeliveryStore | DestinationStore | HistoryStore | Outbox | SecretKeyStore | WebhookStore
  > = Layer.effect(
    Destinations,
    Effect.gen(function* () {
      const audit = yield* AuditStore
      const recordAudit = (event: AuditEvent) => Effect.provideService(Audit.record(event), AuditStore, audit)
      const chains = yield* Chains.make
      const checks = yield* DestinationChecks.make
      const sampleRun = yield* SampleEvent.make
      const outbox = yield* Outbox
      const store = yield* DestinationStore
      const deliveries = yield* DeliveryStore
      const webhooks = yield* WebhookStore
      const { seal } = yield* Sealing.make

      const ownerOf = (owner: OwnerId): Effect.Effect<Owner, NotFound> =>
        owner === null ? Effect.succeed(null) : webhookIdOf(owner)

      /** Fails if the webhook does not exist. */
      const inOwner = <A, E>(
        owner: OwnerId,
        use: (owner: Owner) => Effect.Effect<A, E>
      ): Effect.Effect<A, E | NotFound | Unavailable> =>
        Effect.flatMap(ownerOf(owner), (id) => (id === null ? use(id) : Effect.andThen(webhooks.webhook(id), use(id))))

      const found = <A, E>(
        owner: OwnerId,
        id: string,
        use: (row: DestinationRow) => Effect.Effect<A, E>
      ): Effect.Effect<A, E | NotFound | Unavailable> =>
        Effect.flatMap(Effect.all([ownerOf(owner), destinationIdOf(id)]), ([owner, id]) =>
          Effect.flatMap(store.destinationRow(owner, id), use)
        )

      const sealHeaders = (id: DestinationId, headers: Readonly<Record<string, string>> | undefined) => {
        if (headers === undefined) return Effect.succeed({} as SealedHeaders)
        const header_names = Object.keys(headers)
        if (header_names.length === 0) return Effect.succeed<SealedHeaders>({ header_names, sealed_headers: null })
        const sealed = seal(id, JSON.stringify(headers), "/headers")
        return Effect.map(sealed, (sealed_headers): SealedHeaders => ({ header_names, sealed_headers }))
      }

      const create = (owner: Owner, input: unknown) =>
        Effect.gen(function* () {
          const draft = yield* checks.draft(owner, input)
          const id = yield* makeDestinationId
          const now = yield* DateTime.now
          const { description, enabled = true, events = eventsOf(owner), headers, kind = "webhook" } = draft
          const { target, template, token, url } = draft
          const { sends } = kindOf(kind)
          const { body = sends === "event" ? "thin" : "full" } = draft
          const secret = secretOf(kind, { token, url }) ?? makeSecret()
          const { header_names = [], sealed_headers = null } = yield* sealHeaders(id, headers)
          const destination = yield* store.createDestination(
            {
              id,
              ...(owner !== null && { webhook_id: owner }),
              kind,
              url: shownUrl(kind, url),
              ...(target !== undefined && { target }),
              ...(kindOf(kind).url?.isSecret && { authors: authorsOfUrl(kind, secret) }),
              ...(kind === "chain" && (yield* chains.created(owner, target!))),
              ...(description !== undefined && { description }),
              events,
              body,
              ...(template !== undefined && { template }),
              header_names,
              ...(sealed_headers !== null && { sealed_headers }),
              sealed_secret: yield* seal(id, secret, "/url"),
              secret_hint: secretHintOf(secret),
              enabled,
              created_at: now,
              updated_at: now
            },
            {
              audit: yield* Audit.draft("destination.created"),
              faultBeside: (others) =>
                others.length >= maxDestinations
                  ? tooMany
                  : kind === "chain"
                    ? Chains.faultBeside(target!)(others)
                    : undefined
            }
          )
          return { destination, ...(sends === "event" && { secret: Redacted.make(secret) }) }
        })

      const edit = (row: DestinationRow, input: unknown) =>
        Effect.gen(function* () {
          const checked = yield* checks.edit(row, input)
          const { headers, token, url, ...change } = checked
          const sealed = yield* sealHeaders(row.id, headers)
          const isMoved = url !== undefined && url !== row.url
          const secret = secretOf(row.kind, { token, ...(isMoved && { url }) })
          return yield* store.updateDestination(
            row.webhook_id ?? null,
            row.id,
            {
              ...change,
              ...(row.kind === "chain" && (yield* chains.edited(row, checked))),
              ...sealed,
              ...(isMoved && { url: shownUrl(row.kind, url), authors: authorsOfUrl(row.kind, url) }),
              ...(secret !== undefined && {
                sealed_secret: yield* seal(row.id, secret, "/token"),
                secret_hint: secretHintOf(secret)
              }),
              updated_at: yield* DateTime.now
            },
            {
              audit: yield* Audit.draft("destination.edited"),
              ...(row.kind === "chain" && change.target && { faultBeside: Chains.faultBeside(change.target) })
            }
          )
        })

      const rotateSecret = (row: DestinationRow, overlap: Duration.Duration) =>
        Effect.gen(function* () {
          if (kindOf(row.kind).sends !== "event") return yield* notSigned
          const secret = makeSecret()
          const now = yield* DateTime.now
          const keepsOld = Duration.isGreaterThan(overlap, Duration.zero)
          const destination = yield* store.updateDestination(
            row.webhook_id ?? null,
            row.id,
            {
              sealed_secret: yield* seal(row.id, secret, "/secret"),
              secret_hint: secretHintOf(secret),
              old_sealed_secret: keepsOld ? row.sealed_secret : null,
              old_secret_valid_until: keepsOld ? DateTime.addDuration(now, overlap) : null,
              updated_at: now
            },
            { audit: yield* Audit.draft("destination.edited") }
          )
          return { destination, secret: Redacted.make(secret) }
        })

      const test = (row: DestinationRow) =>
        Effect.gen(function* () {
          if (row.webhook_id === undefined) return yield* outbox.test(row, { alert: yield* SampleEvent.alert })
          const webhook = yield* webhooks.webhook(row.webhook_id)
          if (!(yield* chains.mayStart(row))) {
            return { at: yield* DateTime.now, duration_ms: 0, http_status: 403, error: notYours }
          }
          const attempt = yield* outbox.test(row, { run: yield* sampleRun(webhook), webhook })
          const { started_run: run_id } = attempt
          if (run_id === undefined) return attempt
          yield* recordAudit({ ...(yield* Audit.draft("webhook.run_started")), object: row.target!, after: { run_id } })
          return attempt
          // A run that was started has its audit event, even if the caller leaves.
        }).pipe(row.kind === "chain" ? Effect.uninterruptible : Function.identity)

      const page = (owner: Owner, { destination_id, run_id, ...filter }: DeliveryFilter) =>
        Effect.gen(function* () {
          const { teams: owners } = yield* Audit.Origin
          return yield* deliveries.deliveries({
            ...filter,
            owner,
            ...(owners && { owners }),
            ...(destination_id !== undefined && { destination_id: yield* destinationIdOf(destination_id) }),
            ...(run_id !== undefined && { run_id: yield* runIdOf(run_id) })
          })
        })

      const delivery = (owner: OwnerId, text: string) =>
        Effect.gen(function* () {
          const { teams } = yield* Audit.Origin
          return yield* deliveries.delivery(yield* ownerOf(owner), yield* deliveryIdOf(text), teams)
        })

      const resend = (owner: Owner, text: string) =>
        Effect.gen(function* () {
          const { destination_id, id } = yield* delivery(owner, text)
          const row = yield* store.destinationRow(owner, destination_id)
          if (!(yield* chains.mayStart(row))) return yield* refusal(notYours)
          const count = yield* deliveries.resend({ owner, id }, yield* DateTime.now)
          if (count === 0) {
            return yield* (yield* store.destinationRow(owner, destination_id)).enabled ? ofAnotherTeam : switchedOff
          }
          return yield* deliveries.delivery(owner, id)
        })

      const resendFailed = (row: DestinationRow, failedSince: DateTime.Utc) =>
        Effect.gen(function* () {
          if (!(yield* chains.mayStart(row))) return yield* refusal(notYours)
          if (!row.enabled) return yield* switchedOff
          const which = { owner: row.webhook_id ?? null, destination_id: row.id, failedSince }
          return yield* deliveries.resend(which, yield* DateTime.now)
        })

      return Destinations.of({
        check: checks.ofRuns,
        list: (owner) => inOwner(owner, store.destinations),
        show: (owner, id) => found(owner, id, (row) => Effect.succeed(toDestination(row))),
        create: (owner, draft) => inOwner(owner, (id) => create(id, draft)),
        edit: (owner, id, change) => found(owner, id, (row) => edit(row, change)),
        remove: (owner, id) =>
          found(owner, id, (row) =>
            Effect.flatMap(Audit.draft("destination.deleted"), (draft) =>
              store.deleteDestination(row.webhook_id ?? null, row.id, draft)
            )
          ),
        rotateSecret: (owner, id, overlap) => found(owner, id, (row) => rotateSecret(row, overlap)),
        test: (owner, id) => found(owner, id, test),
        deliveries: (owner, filter) => inOwner(owner, (id) => page(id, filter)),
        delivery,
        resend: (owner, id) => Effect.flatMap(ownerOf(owner), (owner) => resend(owner, id)),
        resendFailed: (owner, id, since) => found(owner, id, (row) => resendFailed(row, since))
      })
    })
  )
}

interface SealedHeaders {
  readonly header_names?: ReadonlyArray<string>
  readonly sealed_headers?: string | null
}

/** As the Standard Webhooks specification has it. */
const makeSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`

/** The key of a service: in its URL, or a token. `undefined`: none is given, or the kind has none. */
const secretOf = (
  kind: DestinationKind,
  { token, url }: { readonly token?: string | undefined; readonly url?: string | undefined }
): string | undefined => {
  const data = kindOf(kind)
  return data.url?.isSecret ? url : data.token && token
}

/** The URL as it is stored in the clear: if it contains a key, only its host. */
const shownUrl = (kind: DestinationKind, url: string | undefined): string => {
  const { shownUrl = "", url: data } = kindOf(kind)
  const given = url ?? data?.default ?? shownUrl
  return data?.isSecret ? `${new URL(given).origin}/…` : given
}

const refusal = (detail: string) => new Invalid({ faults: [{ pointer: "", detail }] })

const notSigned = refusal("only destinations of the kind webhook have a signing secret; edit the token or URL")

const notYours = "you cannot use the webhook that it starts"

const tooMany = refusal(`there may be at most ${maxDestinations} destinations`)

const switchedOff = refusal("the destination is switched off")

const ofAnotherTeam = refusal("the webhook has been moved to another team since this run")
