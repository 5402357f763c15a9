import { expect, it } from "@effect/vitest"
import { recipes, serviceOf } from "../../src/recipes/Recipes.ts"

it("sentences name the service of a recipe, and not what the recipe is about", () => {
  const names = ["github-comment", "slack-command", "slack-mention", "generic", "alertmanager"] as const
  expect(names.map((name) => serviceOf(recipes[name]))).toEqual([
    ...["GitHub", "Slack", "Slack", "your own service", "Alertmanager"]
  ])
})
