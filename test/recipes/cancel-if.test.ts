import { expect, it } from "vitest"
import { filter } from "../../src/domain/prompt/Filter.ts"
import { recipes } from "../../src/recipes/Recipes.ts"

/** What the service sends when the story is over, as a change of the recipe's sample. */
const overs: { readonly [name: string]: (payload: any) => unknown } = {
  github: (payload) => (payload.action = "closed"),
  gitlab: ({ object_attributes }) => (object_attributes.action = "merge"),
  linear: (payload) => (payload.action = "remove"),
  alertmanager: (payload) => (payload.status = "resolved"),
  grafana: (payload) => (payload.status = "resolved"),
  pagerduty: ({ event }) => (event.event_type = "incident.resolved"),
  sentry: (payload) => (payload.action = "resolved")
}

it("recipes cancel runs when the service says that their story is over, and only then", () => {
  const cancelling = Object.entries(recipes).filter(([, { settings }]) => settings.cancel_if !== undefined)
  expect(cancelling.map(([name]) => name).toSorted()).toEqual(Object.keys(overs).toSorted())
  for (const [name, { sample, settings }] of cancelling) {
    const { headers } = sample
    const payload = structuredClone(sample.payload)
    const holds = () => filter(settings.cancel_if!, { payload, headers, query: {} })
    const before = holds()
    overs[name]!(payload)
    expect([name, before, holds()]).toEqual([name, { accepted: false }, { accepted: true }])
  }
})
