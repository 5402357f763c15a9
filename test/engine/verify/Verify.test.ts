import { createHash, createHmac, generateKeyPairSync, sign } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Webhook } from "standardwebhooks"
import { describe as describeSender, type Options } from "../../../src/domain/verification/Presets.ts"
import { faultOf } from "../../../src/engine/verify/Signing.ts"
import { hmac, outcome, secret, verdictOf } from "./Verdict.ts"

describe("takes what the services publish as signed", () => {
  it("GitHub's example", () => {
    const digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    const headers = { "x-hub-signature-256": `sha256=${digest}`, "x-github-delivery": "d-1" }
    expect(verdictOf({ preset: "github" }, secret, { headers, body: "Hello, World!" })).toStrictEqual({
      _tag: "Verified",
      delivery_id: `body ${createHash("sha256").update("Hello, World!").digest("hex")}`
    })
  })

  it("Jira's", () => {
    const digest = "a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"
    const sent = { headers: { "x-hub-signature": `sha256=${digest}` }, body: "Hello World!" }
    expect(outcome({ preset: "jira" }, secret, sent)).toBe("Verified")
  })

  const slackBody =
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"

  const slack = {
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      "x-slack-request-timestamp": "1531420618"
    },
    body: slackBody
  }

  it("Slack's, for 5 minutes, and no clock may be further off than that", () => {
    const at = (seconds: number) =>
      verdictOf({ preset: "slack" }, "8f742231b10e8888abcd99yyyzzz85a5", slack, (1_531_420_618 + seconds) * 1000)
    const delivery_id = "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    expect(at(0)).toStrictEqual({ _tag: "Verified", delivery_id, reply: { at: { form: "command" } } })
    expect([at(300), at(-300), at(301), at(-301)].map(({ _tag }) => _tag)).toStrictEqual([
      ...["Verified", "Verified", "Refused", "Refused"]
    ])
    expect(at(301)).toStrictEqual({ _tag: "Refused", cause: "expired" })
  })

  it("that of the Standard Webhooks", () => {
    const headers = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    }
    const sent = { headers, body: '{"test": 2432232314}' }
    const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    for (const preset of ["standard-webhooks", "gitlab"] as const) {
      expect(verdictOf({ preset }, key, sent, 1_614_265_330_000)).toMatchObject({ delivery_id: headers["webhook-id"] })
    }
  })
})

describe("Standard Webhooks", () => {
  const key = `whsec_${Buffer.from("an-example-key-of-24-bytes").toString("base64")}`

  const body = '{"type":"contact.created","data":{}}'

  const now = Date.now()

  const headersWith = (signature: string, at = now): Record<string, string> => ({
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(at / 1000)),
    "webhook-signature": signature
  })

  const signed = (at = now) => headersWith(new Webhook(key).sign("msg_1", new Date(at), body), at)

  const check = (headers: Record<string, string>, secrets: string | ReadonlyArray<string> = key) =>
    outcome({ preset: "standard-webhooks" }, secrets, { headers, body }, now)

  it("are taken as their own library signs them, under Svix's names too", () => {
    expect(check(signed())).toBe("Verified")
    const svix = Object.fromEntries(
      Object.entries(signed()).map(([name, value]) => [name.replace("webhook", "svix"), value])
    )
    expect(check(svix)).toBe("Verified")
  })

  it("are taken with any of several signatures, and with any of two secrets", () => {
    const other = `whsec_${Buffer.from("another-key").toString("base64")}`
    const { "webhook-signature": right } = signed()
    expect(check(headersWith(`v1,${hmac("x", "y", "base64")} v2,abc ${right}`))).toBe("Verified")
    expect(check(signed(), [other, key])).toBe("Verified")
    expect(check(signed(), other)).toBe("mismatch")
  })

  it("are refused when they are old, of the future, without an id, or of another", () => {
    expect(check(signed(now - 301_000))).toBe("expired")
    expect(check(signed(now + 302_000))).toBe("expired")
    expect(check({ ...signed(), "webhook-id": "msg_2" })).toBe("mismatch")
    expect(check({ ...signed(), "webhook-id": "" })).toBe("missing")
    expect(check({ ...signed(), "webhook-timestamp": "1e9" })).toBe("malformed")
  })

  it("are taken with the sender's public key", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519")
    const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32)
    const content = `msg_1.${Math.floor(now / 1000)}.${body}`
    const signature = `v1a,${sign(null, Buffer.from(content), privateKey).toString("base64")}`
    const secrets = `whpk_${raw.toString("base64")}`
    expect(check(headersWith(`v1,${hmac("x", "y", "base64")} ${signature}`), secrets)).toBe("Verified")
    expect(
      check(headersWith(`v1a,${sign(null, Buffer.from(`${content} `), privateKey).toString("base64")}`), secrets)
    ).toBe("mismatch")
    // A public key is known to everybody: it is no key of an HMAC.
    const forged = `v1,${createHmac("sha256", raw).update(content).digest("base64")}`
    expect(check(headersWith(forged), secrets)).toBe("malformed")
    expect(check(headersWith(signature))).toBe("malformed")
  })
})

it("no public key is taken with which signatures can be made without a private one", () => {
  const now = Date.now()
  // The neutral element, as public key and as the first half of a signature, verifies anything.
  const neutral = Buffer.from("01".padEnd(64, "0"), "hex")
  const signature = `v1a,${Buffer.concat([neutral, Buffer.alloc(32)]).toString("base64")}`
  const time = String(Math.floor(now / 1000))
  const headers = { "webhook-id": "msg_1", "webhook-timestamp": time, "webhook-signature": signature }
  const options = { preset: "standard-webhooks" } as const
  const order8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
  for (const key of [
    neutral,
    Buffer.alloc(32),
    Buffer.from(order8, "hex"),
    Buffer.from(`${order8.slice(0, 62)}85`, "hex")
  ]) {
    const text = `whpk_${key.toString("base64")}`
    expect(faultOf(describeSender(options, text), text), text).toContain("must be a secure public key")
    expect(outcome(options, text, { headers, body: "forged" }, now)).toBe("mismatch")
  }
})

describe("Stripe", () => {
  const body = '{"id":"evt_1","object":"event"}'

  const now = 1_492_774_577_000

  const v1 = hmac("whsec_test", `1492774577.${body}`)

  const check = (header: string, at = now) =>
    verdictOf({ preset: "stripe" }, "whsec_test", { headers: { "stripe-signature": header }, body }, at)

  it("is taken with one of several signatures, and known by its event", () => {
    const other = hmac("whsec_old", `1492774577.${body}`)
    for (const header of [`t=1492774577,v1=${v1},v0=${other}`, `t=1492774577,v1=${other},v1=${v1}`]) {
      expect(check(header)).toStrictEqual({ _tag: "Verified", delivery_id: "evt_1" })
    }
  })

  it("is refused without a time, with another one, and by signatures of another kind", () => {
    const causeOf = (header: string, at?: number) => (check(header, at) as { readonly cause?: string }).cause
    expect(causeOf(`v1=${v1}`)).toBe("missing")
    expect(causeOf(`t=1492774578,v1=${v1}`)).toBe("mismatch")
    expect(causeOf(`t=1492774577,v0=${v1}`)).toBe("malformed")
    expect(causeOf(`t=1492774577,v1=${v1}`, now + 301_000)).toBe("expired")
  })
})

it("a byte order mark before the body changes nothing: its event and its time are found", () => {
  const body = '\ufeff{"id":"evt_1","webhookTimestamp":1614265330000}'
  const now = 1_614_265_330_000
  const stripe = { "stripe-signature": `t=1614265330,v1=${hmac(secret, `1614265330.${body}`)}` }
  const event = verdictOf({ preset: "stripe" }, secret, { headers: stripe, body }, now)
  expect(event).toMatchObject({ _tag: "Verified", delivery_id: "evt_1" })
  const linear = { "linear-signature": hmac(secret, body), "linear-delivery": "l-1" }
  const update = verdictOf({ preset: "linear" }, secret, { headers: linear, body }, now)
  expect(update).toMatchObject({ _tag: "Verified", delivery_id: "l-1" })
})

describe("the other services", () => {
  const body = '{"event":{"id":"01E","event_type":"incident.triggered"},"webhookTimestamp":1614265330000}'

  const now = 1_614_265_330_000

  const digest = hmac(secret, body)

  it("PagerDuty: any of its signatures, known by the event in the body", () => {
    const check = (header: string) =>
      verdictOf({ preset: "pagerduty" }, secret, { headers: { "x-pagerduty-signature": header }, body })
    const verified = { _tag: "Verified", delivery_id: "01E" }
    expect(check(`v1=${hmac("old", body)},v1=${digest}`)).toStrictEqual(verified)
    expect(check(`v1=${digest}, v1=${hmac("old", body)}`)).toStrictEqual(verified)
    expect(check(`v2=${digest}`)).toStrictEqual({ _tag: "Refused", cause: "malformed" })
  })

  it("Linear: for a minute, by the time in the body", () => {
    const headers = { "linear-signature": digest, "linear-delivery": "l-1" }
    const check = (at: number) => verdictOf({ preset: "linear" }, secret, { headers, body }, at)
    expect(check(now + 60_000)).toStrictEqual({ _tag: "Verified", delivery_id: "l-1" })
    expect(check(now + 61_000)).toStrictEqual({ _tag: "Refused", cause: "expired" })
  })

  it("Sentry and Grafana: a bare signature; Grafana's with its time when the webhook names the header", () => {
    const sentry = { "sentry-hook-signature": digest, "request-id": "r-1" }
    expect(outcome({ preset: "sentry" }, secret, { headers: sentry, body })).toBe("Verified")
    const header = "x-grafana-alerting-signature"
    expect(outcome({ preset: "grafana" }, secret, { headers: { [header]: digest }, body })).toBe("Verified")
    const options = { preset: "grafana", timestamp_header: "X-Grafana-Alerting-Timestamp" } as const
    const at = "1614265330"
    const timed = { [header]: hmac(secret, `${at}:${body}`), "x-grafana-alerting-timestamp": at }
    expect(outcome(options, secret, { headers: timed, body }, now)).toBe("Verified")
    expect(outcome(options, secret, { headers: timed, body }, now + 301_000)).toBe("expired")
    expect(outcome(options, secret, { headers: { [header]: digest }, body }, now)).toBe("missing")
  })

  it("GitLab: its secret token as it is", () => {
    const check = (token: string) =>
      verdictOf({ preset: "gitlab" }, secret, { headers: { "x-gitlab-token": token, "idempotency-key": "g-1" }, body })
    expect(check(secret)).toMatchObject({ _tag: "Verified", delivery_id: "g-1" })
    expect(check(`${secret} `)).toStrictEqual({ _tag: "Refused", cause: "mismatch" })
  })

  it("Alertmanager: a bearer token, or with a user's name the password", () => {
    const authorization = (value: string) => ({ headers: { authorization: value }, body })
    const basic = (user: string, password: string) =>
      authorization(`Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`)
    const bearer = { preset: "alertmanager" } as const
    expect(outcome(bearer, "geheim-ü", authorization("bearer geheim-Ã¼"))).toBe("Verified")
    expect(outcome(bearer, "a", authorization("Bearer b"))).toBe("mismatch")
    expect(outcome(bearer, "a", basic("u", "a"))).toBe("malformed")
    const user = { preset: "alertmanager", username: "u" } as const
    expect(outcome(user, "a:b", basic("u", "a:b"))).toBe("Verified")
    expect(outcome(user, "a", basic("v", "a"))).toBe("mismatch")
    expect(outcome(user, "a", authorization("Bearer a"))).toBe("malformed")
    expect(outcome({ preset: "basic", username: "u" }, "a", { headers: {}, body })).toBe("missing")
  })

  it("any: an HMAC as the webhook describes it, and a secret in a header of its own", () => {
    const options: Options = {
      ...{
        preset: "hmac" as const,
        header: "X-Signature",
        algorithm: "sha512" as const,
        encoding: "base64" as const,
        prefix: "hmac "
      },
      ...{ signed: "{timestamp}|{id}|{body}", timestamp_header: "X-Time", id_header: "X-Id" }
    }
    const signature = `hmac ${hmac(secret, `1614265330|7|${body}`, "base64", "sha512")}`
    const headers = { "x-signature": signature, "x-time": "1614265330", "x-id": "7" }
    expect(verdictOf(options, secret, { headers, body }, now)).toMatchObject({ _tag: "Verified", delivery_id: "7" })
    expect(outcome(options, secret, { headers: { ...headers, "x-id": "8" }, body }, now)).toBe("mismatch")
    const header = { preset: "header", header: "X-Api-Key" } as const
    expect(outcome(header, secret, { headers: { "x-api-key": secret }, body })).toBe("Verified")
    expect(outcome(header, secret, { headers: {}, body })).toBe("missing")
  })
})
