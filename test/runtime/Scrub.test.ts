import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Scrub from "../../src/runtime/Scrub.ts"

const secret = fc.stringMatching(/^[\w/+=&<>"'. -]{8,40}$/).filter((text) => text.trim().length >= 8)

it("finds a secret in any form and at any place, also where the text was cut within it", () => {
  const forms: ReadonlyArray<(text: string) => string> = [
    (text) => text,
    (text) => text.toUpperCase(),
    encodeURIComponent,
    (text) => JSON.stringify(text),
    (text) => text.replaceAll("/", "\\/"),
    (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;"),
    (text) => Buffer.from(text).toString("base64")
  ]
  fc.assert(
    fc.property(secret, fc.constantFrom(...forms), fc.nat(40), (secret, form, cut) => {
      const scrub = Scrub.make([secret])
      expect(scrub(`Cannot POST ${form(secret)} here`)).toMatch(/^Cannot POST "?redacted"? here$/)
      const shown = form(secret).slice(0, cut)
      if (shown.length >= 6) expect(scrub(`Cannot POST: ${shown}`).endsWith(shown)).toBe(false)
    })
  )
})

it("leaves other texts as they are", () => {
  const scrub = Scrub.make(["xoxb-s3cret", "", "abc"])
  expect(scrub("abc: no_text, no secret")).toBe("abc: no_text, no secret")
})

it("knows the parts of URLs and headers", () => {
  const url = Scrub.make(Scrub.secretsOfUrl("https://hooks.slack.com/services/T000/B000/s3cretKey?sig=0123456789"))
  expect(url("Cannot POST /services/T000/B000/s3cretKey?sig=0123456789")).toBe("Cannot POST redacted")
  expect(url("Cannot POST s3cretKey, 0123456789, services")).toBe("Cannot POST redacted, redacted, services")
  const basic = Scrub.make(Scrub.secretsOfHeader(`Basic ${btoa("user:passw0rd")}`))
  expect(basic(`${btoa("user:passw0rd")} user:passw0rd passw0rd`)).toBe("redacted redacted redacted")
  expect(Scrub.make(Scrub.secretsOfHeader("Bearer abcdef"))("authorization: bearer abcdef")).toBe(
    "authorization: redacted"
  )
})
