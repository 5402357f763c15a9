/** A webhook that shares the URL of another one: what the two must have in common, and who may join them. */
import { Effect } from "effect"
import { type Fault, type Unavailable, UrlShared } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { webhookIdOf } from "../../domain/ParsedId.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { Origin } from "../access/Audit.ts"
import * as Input from "../prompt/Input.ts"

type Fields = { readonly [Field in keyof Webhook]?: unknown }

/** A change of one of these is checked. */
const checkedFields = ["shares", "team", "input", "verification", "allow_from"] as const

/** The other webhook does both. */
const verifiedByOther = ["verification", "allow_from"] as const

/** One request starts as many runs at most, and one more. */
const mostSharing = 100

const inputOf = (fields: Fields) => (Input.takesPayload(fields) ? "payload" : "variables")

export const make = Effect.gen(function* () {
  const store = yield* WebhookStore

  /** Whether the actor may use this team. A webhook of another one looks like one that does not exist. */
  const mayUse = Effect.map(
    Origin,
    ({ teams }) =>
      ({ team }: Pick<Webhook, "team">) =>
        teams === undefined || teams.includes(team)
  )

  const faultsOfSharing = (shares: string, after: Fields, change: Fields, before: Webhook | undefined) =>
    Effect.gen(function* () {
      const isAllowed = yield* mayUse
      const other = yield* Effect.flatMap(webhookIdOf(shares), store.webhook).pipe(
        Effect.catchTag("NotFound", () => Effect.succeed(undefined))
      )
      if (other === undefined || (changesWho(change, before) && !isAllowed(other))) {
        return shares === before?.shares ? [otherTeam] : [{ pointer: "/shares", detail: "must be the ID of a webhook" }]
      }
      const faults: Array<Fault> = verifiedByOther.flatMap((field) =>
        after[field] === undefined || after[field] === null
          ? []
          : [{ pointer: `/${field}`, detail: "must not be set: the webhook whose URL it shares verifies the requests" }]
      )
      if (other.shares !== undefined) {
        faults.push({ pointer: "/shares", detail: "must be a webhook with its own URL, which this one shares itself" })
      }
      if (shares !== before?.shares && (yield* store.sharing(other.id)).length >= mostSharing) {
        faults.push({
          pointer: "/shares",
          detail: `must be a webhook whose URL fewer than ${mostSharing} others share`
        })
      }
      if (before !== undefined && (other.id === before.id || (yield* store.sharing(before.id)).length > 0)) {
        faults.push({ pointer: "/shares", detail: "must not be set: webhooks share the URL of this one" })
      }
      if (inputOf(other) !== inputOf(after)) {
        const detail = `must be \`${inputOf(other)}\`, as for the webhook whose URL it shares`
        faults.push({ pointer: "/input", detail })
      }
      return faults
    })

  const faultsOfShared = (change: Fields, before: Webhook) =>
    Effect.gen(function* () {
      const isAllowed = yield* mayUse
      const sharing = yield* store.sharing(before.id)
      const faults: Array<Fault> = []
      if (sharing.some((other) => inputOf(other) !== inputOf({ ...before, ...change }))) {
        faults.push({ pointer: "/input", detail: "must not change: webhooks share its URL and need the same input" })
      }
      return changesWho(change, before) && !sharing.every(isAllowed) ? [...faults, otherTeam] : faults
    })

  /** Faults of a draft, or of a change of a webhook. */
  const faults = (change: Fields, before: Webhook | undefined): Effect.Effect<ReadonlyArray<Fault>, Unavailable> => {
    const after = { ...before, ...change }
    if (!checkedFields.some((field) => change[field] !== undefined)) return Effect.succeed([])
    if (typeof after.shares === "string") return faultsOfSharing(after.shares, after, change, before)
    return before === undefined ? Effect.succeed([]) : faultsOfShared(change, before)
  }

  /** Requests would be lost without it. */
  const checkDeletion = (id: WebhookId): Effect.Effect<void, UrlShared | Unavailable> =>
    Effect.gen(function* () {
      const sharing = yield* store.sharing(id)
      if (sharing.length === 0) return
      const shown = sharing.filter(yield* mayUse).map(({ name }) => name)
      const hidden = sharing.length - shown.length
      const names = [...shown, ...(hidden > 0 ? [`${hidden} of other teams`] : [])].join(", ")
      return yield* new UrlShared({
        detail: `Webhooks share its URL: ${names}. Delete them first, or remove their \`shares\`.`
      })
    })

  return { faults, checkDeletion }
})

/** A team gets requests of another one, or others'. That needs the rights to both. */
const changesWho = (change: Fields, before: Webhook | undefined): boolean =>
  (["shares", "team"] as const).some((field) => change[field] !== undefined && change[field] !== before?.[field])

const otherTeam: Fault = {
  pointer: "/team",
  detail: "must not change: it shares a URL with a webhook of a team that this key may not use"
}
