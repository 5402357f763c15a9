import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Result } from "effect"
import { FastCheck } from "effect/testing"
import { toYaml } from "../../../src/cli/config/Export.ts"
import { plan } from "../../../src/cli/config/Plan.ts"
import { hasChanges } from "../../../src/cli/config/PlanText.ts"
import { collect } from "../../../src/cli/config/Wanted.ts"
import { parse } from "../../../src/cli/config/YamlFile.ts"
import { conditionOf } from "../../../src/domain/alert/AlertCondition.ts"
import { AlertRule } from "../../../src/domain/alert/AlertRule.ts"
import { Destination } from "../../../src/domain/delivery/Destination.ts"
import { kindOf } from "../../../src/domain/delivery/DestinationKind.ts"
import { Webhook } from "../../../src/domain/webhook/Webhook.ts"

/** Texts that YAML could change: line breaks, blanks at the ends, what looks like another type, and anything else. */
const text = FastCheck.oneof(
  FastCheck.string({ minLength: 1, maxLength: 60, unit: "grapheme" }),
  FastCheck.array(
    FastCheck.constantFrom("a", " ", "\n", "\r\n", "\t", "- ", "# ", ": ", "{{x}}", "'", '"', "|", "\u2028", "é"),
    {
      minLength: 1,
      maxLength: 30
    }
  ).map((parts) => parts.join("")),
  FastCheck.constantFrom("no", "null", "~", "1e3", "0x1", "2026-01-02", "=", "<<", "|", "> folded", "!tag", "&a", "*a")
)

const destination = FastCheck.tuple(Arbitrary.make(Destination), FastCheck.option(text, { nil: undefined })).map(
  ([one, description]): Destination => {
    const { description: _, ...rest } = one
    const { url } = kindOf(one.kind)
    return {
      ...rest,
      url: url?.isSecret ? "https://example.com/…" : one.url,
      ...(description !== undefined && { description }),
      ...(url === undefined && { url: kindOf(one.kind).shownUrl ?? "" })
    }
  }
)
const webhook = FastCheck.tuple(Arbitrary.make(Webhook), text, text).map(
  ([one, name, prompt_template]): Webhook => ({ ...one, name, prompt_template, secret_hint: "…abcd" })
)

const alertDestination = destination.map(
  (one): Destination => ({ ...one, kind: "webhook", events: ["alert.firing"], url: "https://example.com/" })
)

describe("an export", () => {
  it.effect.prop(
    "asks for exactly what the server has",
    [
      FastCheck.array(FastCheck.tuple(webhook, FastCheck.array(destination, { maxLength: 3 })), { maxLength: 3 }),
      FastCheck.array(alertDestination, { maxLength: 3 }),
      FastCheck.uniqueArray(
        FastCheck.tuple(Arbitrary.make(AlertRule), FastCheck.nat(9), FastCheck.uniqueArray(FastCheck.nat(3))),
        // Equal rules are refused: one of them is needless.
        { maxLength: 3, selector: ([{ condition }]) => condition }
      )
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
        const planned = plan(configuration, state, { prune: true, resetSecrets: false })
        expect(Result.isSuccess(planned) ? "" : `${JSON.stringify(planned.failure)}\n${yaml}`).toBe("")
        expect(hasChanges(Result.getOrThrow(planned)), yaml).toBe(false)
      }).pipe(Effect.provide(NodeContext.layer)),
    { fastCheck: { numRuns: 100 } }
  )
})
