/** The changes that make a server what the files ask for. */
import { Result } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import { webhookSettingNames } from "../../domain/webhook/WebhookSettings.ts"
import { destinationSteps } from "./DestinationPlan.ts"
import { changesOf, compared, planning, step } from "./Planning.ts"
import { findTarget, ruleSteps, webhookTargets } from "./RulePlan.ts"
import type { Fields } from "./SecretReferences.ts"
import { secretPlan } from "./Secrets.ts"
import { webhookOf } from "./State.ts"
import type { Plan, PlanOptions, State, WebhookStep } from "./Steps.ts"
import type { Configuration, WantedWebhook } from "./Wanted.ts"

const webhookFields = ["name", "team", ...webhookSettingNames, "verification", "prompt_template"]

/** The steps, what is left alone, and the faults of entries that match nothing or several. */
export const plan = (
  configuration: Configuration,
  state: State,
  options: PlanOptions
): Result.Result<Plan, ReadonlyArray<Fault>> => {
  const found = planning(options)
  const { faults, left, orFault, others } = found
  const { alerts = { destinations: [], rules: [] } } = state

  const wantedWebhooks = (configuration.webhooks ?? []).map((wanted) => ({
    wanted,
    before: orFault(webhookOf(wanted, configuration.webhooks ?? [], state.webhooks))
  }))
  const shareable = webhookTargets({
    webhooks: state.webhooks,
    planned: {
      webhooks: wantedWebhooks.map(({ before, wanted }) => ({
        ...step(wanted.name, before, [], {}, []),
        wanted,
        destinations: []
      }))
    }
  })
  const isListed = (id: string) => state.webhooks.some((one) => one.id === id)
  /** With a reference to the webhook whose URL it shares. A key that is limited to teams may not list the stored one. */
  const withShared = (wanted: WantedWebhook, stored: unknown): WantedWebhook => {
    const { shares } = wanted.fields
    if (typeof shares !== "string" || (shares === stored && !isListed(shares))) return wanted
    const found = findTarget(shareable, shares, (detail) => faults.push(wanted.fault("shares", detail)))
    return { ...wanted, fields: { ...wanted.fields, shares: found } }
  }

  const webhookStep = ({ before, wanted: unresolved }: (typeof wantedWebhooks)[number]): WebhookStep => {
    const wanted = withShared(unresolved, before?.shares)
    const hasVerification = wanted.fields.verification !== undefined
    if (hasVerification && before?.secret_hint === undefined && wanted.secret === undefined) {
      faults.push(wanted.fault("verification", "requires secret_env or secret_file: the server has no secret for it"))
    }
    const secret = secretPlan("secret", wanted.secret, before?.secret_hint, options)
    const changes = changesOf((before ?? {}) as Fields, wanted.fields, compared(webhookFields, wanted.fields))
    const existing = before === undefined ? [] : (state.destinations.get(before.id) ?? [])
    const planned = step(wanted.name, before, changes, wanted.fields, [secret])
    const isUnknown = wanted.id !== undefined && before === undefined
    return {
      ...planned,
      notes: isUnknown ? [...planned.notes, `its id is not on this server: ${wanted.id}`] : planned.notes,
      wanted,
      destinations:
        wanted.destinations === undefined
          ? []
          : destinationSteps(wanted.destinations, existing, `destination of ${wanted.name}:`, found)
    }
  }

  const listed = wantedWebhooks.map(webhookStep)
  const kept = listed.flatMap(({ before }) => before?.id ?? [])
  const otherWebhooks =
    configuration.webhooks === undefined
      ? []
      : others(
          state.webhooks.filter(({ id }) => !kept.includes(id)),
          ({ name }) => name,
          "webhook"
        )
  const webhooks = [
    ...listed,
    ...otherWebhooks.map((step): WebhookStep => ({ ...step, wanted: undefined, destinations: [] }))
  ]
  const alertDestinations =
    configuration.alertDestinations === undefined
      ? []
      : destinationSteps(configuration.alertDestinations, alerts.destinations, "alert destination", found)
  const alertRules =
    configuration.alertRules === undefined
      ? []
      : ruleSteps(
          configuration.alertRules,
          { webhooks: state.webhooks, alerts, planned: { webhooks, alertDestinations } },
          found
        )
  const users = new Set<unknown>([
    ...listed.map(({ wanted }) => wanted?.fields.team),
    ...(configuration.webhooks === undefined ? state.webhooks.map(({ team }) => team) : []),
    ...(configuration.alertRules ?? []).map(({ fields }) => fields.team)
  ])
  const isThere = (name: string) => state.teams.find(({ team }) => team === name)
  const teams = [
    ...(configuration.teams ?? []).map((team) => step(team, isThere(team), [], { team }, [])),
    ...(configuration.teams === undefined
      ? []
      : others(
          state.teams.filter(({ team }) => !configuration.teams!.includes(team) && !users.has(team)),
          ({ team }) => team,
          "team"
        ))
  ]
  for (const { fault, fields } of configuration.alertRules ?? []) {
    const { team } = fields
    const isKnown = team === undefined || isThere(team) !== undefined || configuration.teams?.includes(team)
    if (!isKnown) faults.push(fault(["team"], "does not exist"))
  }
  return faults.length > 0
    ? Result.fail(faults)
    : Result.succeed({ teams, webhooks, alertDestinations, alertRules, left })
}
