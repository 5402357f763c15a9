import { expect, it } from "vitest"
import { guess } from "../../src/recipes/Guess.ts"
import type { Recipe } from "../../src/recipes/Recipe.ts"
import { recipes } from "../../src/recipes/Recipes.ts"

const all = Object.entries<Recipe>(recipes)

it("recognizes the recipe of each service's sample", () => {
  const guesses = all.map(([name, { sample }]) => [name, guess(sample)])
  expect(guesses).toEqual(all.map(([name]) => [name, name === "generic" ? undefined : name]))
})

it("recognizes a service by another event, and with another version of its program", () => {
  const headers = {
    "content-type": "application/json",
    "user-agent": "GitHub-Hookshot/ffffff",
    "x-github-event": "push"
  }
  expect(guess({ headers, payload: { ref: "refs/heads/main", repository: {} } })).toMatch(/^github/)
  expect(guess({ headers: { "user-agent": "Stripe/2.7" }, payload: {} })).toBe("stripe")
})

it("names no service for a request of a program that anyone may use", () => {
  const headers = { "content-type": "application/json", "user-agent": "curl/8.5.0" }
  expect(guess({ headers, payload: { event: "deployed", status: "firing", id: 1 } })).toBeUndefined()
  expect(guess({ headers: {}, payload: "text" })).toBeUndefined()
})
