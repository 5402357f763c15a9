import { createHmac } from "node:crypto"
import { createRequire } from "node:module"
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Recipe } from "../../../src/recipes/Recipe.ts"
import { type RecipeName, recipeNames, recipes } from "../../../src/recipes/Recipes.ts"
import { requestOf, secretFor } from "../../http/SignedRequests.ts"
import { hmac, outcome, secret } from "./Verdict.ts"

describe("whatever is changed", () => {
  const github = (signature: string, body: string | Uint8Array) =>
    outcome({ preset: "github" }, secret, { headers: { "x-hub-signature-256": signature }, body })

  it("hex is taken in upper case too, being the same bytes (RFC 4648), and nothing else that Node would read", () => {
    const digest = hmac(secret, "body")
    expect(github(`sha256=${digest.toUpperCase()}`, "body")).toBe("Verified")
    for (const wrong of [`SHA256=${digest}`, digest, `sha256= ${digest}`, `sha256=${digest}zz`, "sha256=", "sha256"]) {
      expect(github(wrong, "body"), wrong).toBe("malformed")
    }
    expect(github(`sha256=${digest.slice(2)}`, "body")).toBe("mismatch")
    expect(github(`sha1=${hmac(secret, "body", "hex", "sha1")}`, "body")).toBe("malformed")
    expect(github("", "body")).toBe("missing")
  })

  it("no change of a signed body passes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(), fc.integer({ min: 1, max: 255 }), (bytes, at, by) => {
        const signature = `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`
        expect(github(signature, bytes)).toBe("Verified")
        const appended = Buffer.concat([bytes, Buffer.from([by])])
        expect(github(signature, appended)).toBe("mismatch")
        if (bytes.length === 0) return
        const changed = Buffer.from(bytes)
        changed[at % bytes.length]! ^= by
        expect(github(signature, changed)).toBe("mismatch")
        expect(github(signature, bytes.subarray(1))).toBe("mismatch")
      })
    )
  })

  it("no change of what any of the services has signed passes", () => {
    // The first three send a secret. Amazon SNS signs members of the body (`test/http/trigger/sns.test.ts`), and Twilio
    // the fields of a form, which can be encoded in several ways (`Vendors.test.ts`).
    const others: ReadonlyArray<RecipeName> = ["alertmanager", "event-grid", "microsoft-graph", "aws-sns", "twilio"]
    const signing = recipeNames.filter((name) => !others.includes(name))
    const requests = signing.map((name) => {
      const recipe: Recipe = recipes[name]
      const key =
        recipe.verification.preset === "gitlab"
          ? `whsec_${Buffer.from("an-example-key-of-24-bytes").toString("base64")}`
          : secretFor(recipe)
      const { headers: sent, raw } = requestOf(recipe, key)
      const headers = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]))
      const body = Buffer.from(raw)
      const check = (body: Uint8Array) => outcome(recipe.verification, key, { headers, body })
      expect(check(body), recipe.label).toBe("Verified")
      return { body, check, label: recipe.label }
    })
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (at, by) => {
        for (const { body, check, label } of requests) {
          const changed = Buffer.from(body)
          changed[at % body.length]! ^= by
          expect(check(changed), label).toBe("mismatch")
          expect(check(body.subarray(0, at % body.length)), label).toBe("mismatch")
        }
      }),
      { numRuns: 50 }
    )
  })

  it("no other signature passes", () => {
    const right = hmac(secret, "body")
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.uint8Array({ minLength: 32, maxLength: 32 })), (other) => {
        const text = typeof other === "string" ? other : Buffer.from(other).toString("hex")
        fc.pre(text !== right)
        expect(github(`sha256=${text}`, "body")).not.toBe("Verified")
      })
    )
  })
})

it("takes every payload of GitHub's own examples, and none of them changed by a byte", () => {
  const examples: ReadonlyArray<{ readonly examples: ReadonlyArray<unknown> }> = createRequire(import.meta.url)(
    "@octokit/webhooks-examples"
  )
  const bodies = examples.flatMap((event) => event.examples).map((payload) => Buffer.from(JSON.stringify(payload)))
  expect(bodies.length).toBeGreaterThan(200)
  for (const body of bodies) {
    const headers = { "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` }
    expect(outcome({ preset: "github" }, secret, { headers, body })).toBe("Verified")
    body[body.length >> 1]! ^= 1
    expect(outcome({ preset: "github" }, secret, { headers, body })).toBe("mismatch")
  }
})
