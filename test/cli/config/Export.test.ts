import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Array as Arr, Context, Effect, Result, Schema } from "effect"
import { collect } from "../../../src/cli/config/Document.ts"
import { toYaml } from "../../../src/cli/config/Export.ts"
import { hasChanges } from "../../../src/cli/config/PlanText.ts"
import { parse } from "../../../src/cli/config/YamlFile.ts"
import { conditionOf } from "../../../src/domain/alert/AlertCondition.ts"
import { AlertRule } from "../../../src/domain/alert/AlertRule.ts"
import { Destination } from "../../../src/domain/delivery/Destination.ts"
import { kindOf } from "../../../src/domain/delivery/DestinationKind.ts"
import { Webhook } from "../../../src/domain/webhook/Webhook.ts"
import { Alerts } from "../../../src/engine/alert/Alerts.ts"
import * as Configuration from "../../../src/engine/config/Configuration.ts"
import { Destinations } from "../../../src/engine/delivery/Destinations.ts"
import { Teams } from "../../../src/engine/manage/Teams.ts"
import { Webhooks } from "../../../src/engine/manage/Webhooks.ts"
import { OwnerStore } from "../../../src/repo/access/OwnerStore.ts"
import { TeamStore } from "../../../src/repo/manage/TeamStore.ts"
import { TransactionStore } from "../../../src/repo/TransactionStore.ts"

const oneOf = (...texts: ReadonlyArray<string>) => Arbitrary.schema(Schema.Literals(texts))
const nat = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))

/** Texts that YAML could change: line breaks, blanks at the ends, what looks like another type, and anything else. */
const texts = [
  Arbitrary.schema(Schema.NonEmptyString.check(Schema.isMaxLength(60))),
  Arbitrary.array(oneOf("a", " ", "\n", "\r\n", "\t", "- ", "# ", ": ", "{{x}}", "'", '"', "|", "\u2028", "é"), {
    minLength: 1,
    maxLength: 30
  }).pipe(Arbitrary.map((parts) => parts.join(""))),
  oneOf("no", "null", "~", "1e3", "0x1", "2026-01-02", "=", "<<", "|", "> folded", "!tag", "&a", "*a")
]
const text = Arbitrary.flatMap(nat(texts.length - 1), (at) => texts[at]!)

const destination = Arbitrary.all([Arbitrary.schema(Destination), text, nat(1)]).pipe(
  Arbitrary.map(([{ description: _, ...one }, description, has]): Destination => {
    const { shownUrl, url } = kindOf(one.kind)
    const shown = url === undefined ? (shownUrl ?? "") : url.isSecret ? "https://example.com/…" : one.url
    return { ...one, url: shown, ...(has === 1 && { description }) }
  })
)
const webhook = Arbitrary.all([Arbitrary.schema(Webhook), text, text]).pipe(
  Arbitrary.map(([one, name, prompt_template]): Webhook => ({ ...one, name, prompt_template, secret_hint: "…abcd" }))
)

const alertDestination = Arbitrary.map(
  destination,
  (one): Destination => ({ ...one, kind: "webhook", events: ["alert.firing"], url: "https://example.com/" })
)

const refuses = (...change: ReadonlyArray<unknown>) => Effect.die(new Error(`would change ${JSON.stringify(change)}`))
const noChange = { check: () => Effect.void, create: refuses, edit: refuses, remove: refuses }

/** It only has this state. */
const serverWith = ({ alerts, destinations, webhooks }: Parameters<typeof toYaml>[0]) =>
  Context.make(Webhooks, { ...noChange, list: Effect.succeed(webhooks) } as never).pipe(
    Context.add(Destinations, {
      ...noChange,
      list: (owner: string | null) => Effect.succeed(owner === null ? alerts?.destinations : destinations.get(owner))
    } as never),
    Context.add(Alerts, { rules: Effect.succeed(alerts?.rules) } as never),
    Context.add(Teams, {} as never),
    Context.add(TeamStore, { teams: Effect.succeed([]) } as never),
    Context.add(OwnerStore, {} as never),
    Context.add(TransactionStore, { inOneCommit: (part: unknown) => part, inNoCommit: (all: unknown) => all } as never)
  )

describe("an export", () => {
  it.effect.prop(
    "asks for exactly what the server has",
    [
      Arbitrary.array(Arbitrary.all([webhook, Arbitrary.array(destination, { maxLength: 3 })]), { maxLength: 3 }),
      Arbitrary.array(alertDestination, { maxLength: 3 }),
      // Equal rules are refused: one of them is needless.
      Arbitrary.array(Arbitrary.all([Arbitrary.schema(AlertRule), nat(9), Arbitrary.array(nat(3))]), {
        maxLength: 3
      }).pipe(Arbitrary.map(Arr.dedupeWith(([one], [other]) => one.condition === other.condition)))
    ],
    ([pairs, alertDestinations, drawn]) =>
      Effect.gen(function* () {
        const webhooks = pairs.map(([{ shares: _, ...webhook }], at) =>
          at % 2 === 1 ? { ...webhook, shares: pairs[0]![0].id } : webhook
        )
        const destinations = new Map(pairs.map(([{ id }, destinations]) => [id as string, destinations]))
        const alerts = {
          destinations: alertDestinations,
          rules: drawn.map(([one, at, ids]): AlertRule => {
            const { destination_ids: _, team: _team, webhook_id: _webhook, ...rest } = one
            const { id } = webhooks[at % webhooks.length] ?? {}
            const chosen = alertDestinations.filter((_, at) => ids.includes(at)).map(({ id }) => id)
            const hasHours = conditionOf(one.condition).hours !== undefined
            const { window_hours = 1, ...fields } = rest
            return {
              ...fields,
              threshold: conditionOf(one.condition).threshold.min + (at % 2),
              ...(hasHours && { window_hours }),
              ...(conditionOf(one.condition).of !== "team" && at % 3 > 0 && id !== undefined && { webhook_id: id }),
              ...(ids.length < 3 && { destination_ids: chosen })
            }
          })
        }
        const state = { teams: [], webhooks, destinations, alerts }
        const yaml = yield* toYaml(state, webhooks)
        const [source] = yield* parse("export.yaml", ".", yaml)
        expect(Result.isSuccess(source!) ? "" : `${JSON.stringify(source!.failure)}\n${yaml}`).toBe("")
        const configuration = yield* collect([Result.getOrThrow(source!)])
        expect(configuration.faults).toEqual([])
        const apply = yield* Effect.provide(Configuration.make, serverWith(state))
        const options = { prune: true, resetSecrets: false, dryRun: true, versions: undefined, mayAdminister: true }
        const planned = yield* Effect.result(apply(configuration.configuration, options))
        expect(Result.isSuccess(planned) ? "" : `${JSON.stringify(planned.failure)}\n${yaml}`).toBe("")
        expect(hasChanges(Result.getOrThrow(planned)), yaml).toBe(false)
      }).pipe(Effect.provide(NodeServices.layer)),
    { arbitrary: { runs: 100 } }
  )
})
