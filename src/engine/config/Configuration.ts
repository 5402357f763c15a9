/**
 * Makes the server what a configuration asks for, in one commit. A plan is the same without the commit, so it finds what
 * the change itself would find. Webhooks and teams are deleted after it: with their runs, that can take long.
 */
import { createHash } from "node:crypto"
import { Effect, Schema, Semaphore } from "effect"
import type { ConfigWebhook, Step } from "../../domain/Configuration.ts"
import {
  EditConflict,
  type Fault,
  Forbidden,
  Invalid,
  maxFaults,
  type NotFound,
  type TeamInUse,
  type Unavailable,
  type UrlShared
} from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { AnyJson } from "../../domain/SchemaParts.ts"
import { optional } from "../../domain/Time.ts"
import { validate } from "../../domain/Validation.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { OwnerStore } from "../../repo/access/OwnerStore.ts"
import { TransactionStore } from "../../repo/TransactionStore.ts"
import { remembering } from "../../runtime/Remembered.ts"
import * as Audit from "../access/Audit.ts"
import { Destinations } from "../delivery/Destinations.ts"
import { Teams } from "../manage/Teams.ts"
import { Webhooks, type WithToken } from "../manage/Webhooks.ts"
import * as DestinationLists from "./DestinationLists.ts"
import * as Kinds from "./Kinds.ts"
import { type Fields, type Listed, listed, type Options, omitted, type Run } from "./Resource.ts"
import * as Targets from "./Targets.ts"

/** A secret that is shown only once: a webhook's token, or the signing secret of a destination. */
export type Created =
  | WithToken
  | {
      readonly webhook?: string
      readonly destination?: string
      readonly alert_destination?: string
      readonly id: string
      readonly secret: string
    }

interface NotDeleted {
  readonly kind: Step["kind"]
  readonly name: string
  readonly error: EditConflict | NotFound | TeamInUse | Unavailable | UrlShared
}

interface Request extends Options {
  /** Only if the plan has one of these versions. */
  readonly versions: ReadonlyArray<number> | undefined
  /** Creates and deletes teams. */
  readonly mayAdminister: boolean
}

const list = optional(Schema.Array(AnyJson))
/** Entries are checked one by one, by their kinds. */
const decodeLists = validate(
  Schema.Struct({ teams: list, webhooks: list, alert_destinations: list, alert_rules: list })
)

type Lists = Effect.Success<ReturnType<typeof decodeLists>>

const teamsNeedAdmin = new Forbidden({ detail: "Creating and deleting teams needs the role `admin`, for all teams." })
const alertsNeedAllTeams = new Forbidden({
  detail: "`alert_destinations` and `alert_rules` need access to all teams. Yours is limited to certain teams."
})
const othersRuns = (name: string) =>
  new Forbidden({ detail: `The webhook ${name} has runs of another team, which would be deleted.` })

export const make = Effect.gen(function* () {
  const destinations = yield* DestinationLists.make
  const destinationService = yield* Destinations
  const owners = yield* OwnerStore
  const rules = yield* Kinds.rules
  const teamKind = yield* Kinds.teams
  const teams = yield* Teams
  const transactions = yield* TransactionStore
  /** One at a time, as each holds a connection and locks, and needs no right to change anything for a plan. */
  const turn = yield* Semaphore.make(1)
  const webhookKind = yield* Kinds.webhooks
  const webhooks = yield* Webhooks

  /** Evaluates what is in texts, and looks up names. The faults are those of the plan. */
  const looked = ({ alert_destinations = [], webhooks: given = [] }: Lists) => {
    const plain = (one: unknown) => omitted(Object(one), "id", "secret", "token", "headers", "destinations", "shares")
    const inside = given.flatMap((one) => Object(one).destinations ?? [])
    return Effect.forEach(
      [
        ...given.map((one) => webhooks.check(plain(one))),
        ...[...inside, ...alert_destinations].map((one) => destinationService.check(plain(one)))
      ],
      (check) => Effect.ignore(check),
      { concurrency: 8, discard: true }
    )
  }

  const planned = Effect.fnUntraced(
    function* (config: Lists, { mayAdminister, versions, ...options }: Request) {
      const { teams: limits } = yield* Audit.Origin
      const faults: Array<Fault> = []
      const created: Array<Created> = []
      const run: Run = { options, faults, left: [], seen: [] }
      const ofWebhooks: Kinds.WebhookTargets = Targets.make(({ name }) => ({ name, text: name }), options.prune)
      const ofDestinations = DestinationLists.alertTargets(options.prune)
      const entries = (config.webhooks ?? []) as ReadonlyArray<Partial<ConfigWebhook> | null>
      const webhook = webhookKind(
        run,
        ofWebhooks,
        (token) => void created.push(token),
        ({ destinations: inside, name }, id, pointer) =>
          Effect.gen(function* () {
            const keep: DestinationLists.Keep = (destination, one) =>
              created.push({ webhook: name, destination, ...one })
            const kind = destinations(run, id, keep, { what: `destination of ${name}:` })
            const { steps } = yield* listed(kind, `${pointer}/destinations`, inside, run)
            return steps.map((step) => ({ ...step, webhook: name }))
          })
      )
      const alerts = destinations(run, null, (alert_destination, one) => created.push({ alert_destination, ...one }), {
        targets: ofDestinations
      })
      const hasAlerts = (config.alert_destinations ?? config.alert_rules) !== undefined
      if (hasAlerts && limits !== undefined) return yield* alertsNeedAllTeams
      const existing = yield* webhook.stored
      ofWebhooks.matched(config.webhooks === undefined ? existing : [])

      const used = new Set([
        ...entries.map((entry) => entry?.team),
        ...(config.webhooks === undefined ? existing.map(({ team }) => team) : []),
        ...((config.alert_rules ?? []) as typeof entries).map((entry) => entry?.team)
      ])
      const ofTeams = yield* listed(teamKind, "/teams", config.teams, run, ({ team }) => used.has(team))
      // Below the rest.
      const leftTeams = run.left.splice(0)
      const isOfTeams = ofTeams.steps.some(({ action }) => action === "create" || action === "delete")
      if (isOfTeams && !options.dryRun && (!mayAdminister || limits !== undefined)) return yield* teamsNeedAdmin
      const oldWebhooks = yield* listed(webhook, "/webhooks", config.webhooks, run)
      for (const { id, name } of limits === undefined || options.dryRun ? [] : oldWebhooks.deleted) {
        if (yield* owners.hasOthersRuns(id, limits!)) return yield* othersRuns(name)
      }
      if (hasAlerts && config.alert_destinations === undefined) ofDestinations.matched(yield* alerts.stored)
      const ofAlerts = yield* listed(alerts, "/alert_destinations", config.alert_destinations, run)
      const ofRules = yield* listed(
        rules(ofWebhooks, ofDestinations, yield* teamKind.stored),
        "/alert_rules",
        config.alert_rules,
        run
      )

      if (faults.length > 0) return yield* new Invalid({ faults: faults.slice(0, maxFaults) })
      const steps = [ofTeams, oldWebhooks, ofAlerts, ofRules].flatMap(({ steps }) => steps)
      const digest = createHash("sha256")
        .update(JSON.stringify([steps, run.seen]))
        .digest("hex")
      // 48 bits, as JSON has them exactly.
      const version = Number.parseInt(digest.slice(0, 12), 16)
      if (versions?.includes(version) === false) return yield* new EditConflict({ version })
      return {
        steps,
        left: [...run.left, ...leftTeams],
        version,
        created,
        deleted: { webhooks: oldWebhooks, teams: ofTeams }
      }
      // It was there a moment ago.
    },
    Effect.catchTag("NotFound", () => new EditConflict({ version: 0 }))
  )

  const deleted = Effect.fnUntraced(function* (
    old: Listed<Fields & Webhook>,
    oldTeams: Listed<Fields & { readonly team: string }>
  ) {
    const failed: Array<NotDeleted> = []
    const each = <E extends NotDeleted["error"]>(kind: Step["kind"], name: string, remove: Effect.Effect<void, E>) =>
      Effect.catch(remove, (error) => Effect.sync(() => void failed.push({ kind, name, error })))
    const sharing = old.deleted.filter(({ shares }) => shares !== undefined)
    const others = old.deleted.filter(({ shares }) => shares === undefined)
    for (const { id, name, version } of [...sharing, ...others]) {
      yield* each("webhook", name, webhooks.remove(id as WebhookId, [version]))
    }
    for (const { team } of oldTeams.deleted) yield* each("team", team, teams.remove(team))
    return failed
  })

  return Effect.fn("Configuration.apply")(function* (input: unknown, request: Request) {
    const { dryRun } = request
    const config = yield* decodeLists(input)
    // A commit on the embedded database keeps all others waiting. So what takes long is found before it begins.
    yield* looked(config)
    const run = planned(config, request)
    const {
      created,
      deleted: old,
      ...plan
    } = yield* turn.withPermits(1)(dryRun ? transactions.inNoCommit(run) : transactions.inOneCommit(run))
    const notDeleted = dryRun ? [] : yield* deleted(old.webhooks, old.teams)
    return { ...plan, created: dryRun ? [] : created, notDeleted }
  }, remembering)
})
