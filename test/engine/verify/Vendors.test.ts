/** Services whose requests are signed as their documentation says, with values that they publish where there are any. */
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { describe as describeSender, type Options, type PresetName } from "../../../src/domain/verification/Presets.ts"
import { faultOf } from "../../../src/engine/verify/Signing.ts"
import { makeCheck, verify } from "../../../src/engine/verify/Verify.ts"

const secret = "It's a Secret to Everybody"
const url = "https://agents.example.com/webhook/trigger/whk_1?env=live&x=1"
const now = Date.parse("2026-05-04T08:15:12.345Z")
const seconds = String(Math.floor(now / 1000))

interface Sent {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const verdictOf = (options: Options, key: string, { body, headers }: Sent, at = now, calledAs = url) =>
  verify(
    [makeCheck(describeSender(options, key), key)],
    { headers, body: Buffer.from(body), method: "POST", url: () => calledAs },
    at
  )

const hmac = (key: string | Buffer, text: string, encoding: "hex" | "base64" = "hex", algorithm = "sha256") =>
  createHmac(algorithm, key).update(text).digest(encoding)

const form = { "content-type": "application/x-www-form-urlencoded" }
const json = { "content-type": "application/json" }
const body = JSON.stringify({ id: "e-1", event_id: "e-2", type: "message", text: "wie geht's?" })
const iso = new Date(now).toISOString()

const { privateKey, publicKey } = generateKeyPairSync("ed25519")
const discordKey = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url").toString("hex")

type Vendor = readonly [preset: PresetName, key: string, sign: (body: string, at?: string) => Record<string, string>]

/** Those that sign the bytes of the body. */
const vendors: ReadonlyArray<Vendor> = [
  [
    "calendly",
    secret,
    (body, at = seconds) => ({ "calendly-webhook-signature": `t=${at},v1=${hmac(secret, `${at}.${body}`)}` })
  ],
  ["mux", secret, (body, at = seconds) => ({ "mux-signature": `t=${at},v1=${hmac(secret, `${at}.${body}`)}` })],
  ["paddle", secret, (body, at = seconds) => ({ "paddle-signature": `ts=${at};h1=${hmac(secret, `${at}:${body}`)}` })],
  ["square", secret, (body) => ({ "x-square-hmacsha256-signature": hmac(secret, url + body, "base64") })],
  [
    "hubspot",
    secret,
    (body, at = String(now)) => ({
      "x-hubspot-signature-v3": hmac(secret, `POST${url}${body}${at}`, "base64"),
      "x-hubspot-request-timestamp": at
    })
  ],
  [
    "teams",
    Buffer.from(secret).toString("base64"),
    (body) => ({ authorization: `HMAC ${hmac(Buffer.from(secret), body, "base64")}` })
  ],
  [
    "zendesk",
    secret,
    (body, at = iso) => ({
      "x-zendesk-webhook-signature": hmac(secret, at + body, "base64"),
      "x-zendesk-webhook-signature-timestamp": at
    })
  ],
  [
    "twitch",
    secret,
    (body, at = iso) => ({
      "twitch-eventsub-message-id": "m-1",
      "twitch-eventsub-message-timestamp": at,
      "twitch-eventsub-message-type": "notification",
      "twitch-eventsub-message-signature": `sha256=${hmac(secret, `m-1${at}${body}`)}`
    })
  ],
  [
    "zoom",
    secret,
    (body, at = seconds) => ({
      "x-zm-request-timestamp": at,
      "x-zm-signature": `v0=${hmac(secret, `v0:${at}:${body}`)}`
    })
  ],
  ["asana", secret, (body) => ({ "x-hook-signature": hmac(secret, body) })],
  ["dropbox", secret, (body) => ({ "x-dropbox-signature": hmac(secret, body) })],
  ["notion", secret, (body) => ({ "x-notion-signature": `sha256=${hmac(secret, body)}` })],
  ["meta", secret, (body) => ({ "x-hub-signature-256": `sha256=${hmac(secret, body)}` })],
  ["trello", secret, (body) => ({ "x-trello-webhook": hmac(secret, body + url, "base64", "sha1") })],
  [
    "discord",
    discordKey,
    (body, at = seconds) => ({
      "x-signature-timestamp": at,
      "x-signature-ed25519": sign(null, Buffer.from(at + body), privateKey).toString("hex")
    })
  ]
]

describe("takes what a service signs, and nothing that is changed or sent long ago", () => {
  for (const [preset, key, signed] of vendors) {
    it(preset, () => {
      const headers = { ...json, ...signed(body) }
      const outcome = (sent: Sent, at?: number, calledAs?: string) => {
        const verdict = verdictOf({ preset }, key, sent, at, calledAs)
        return verdict._tag === "Refused" ? verdict.cause : verdict._tag
      }
      expect(faultOf(describeSender({ preset }, key), key)).toBeUndefined()
      expect(outcome({ headers, body })).toBe("Verified")
      for (const other of ["", `${body} `, body.replace("e-1", "e-3")]) {
        expect(outcome({ headers, body: other }), other).toBe("mismatch")
      }
      expect(outcome({ headers: json, body })).toBe("missing")
      const isTimed = describeSender({ preset }, key)
      const late = isTimed.scheme !== "basic" && "timestamp" in isTimed && isTimed.timestamp !== undefined
      expect(outcome({ headers, body }, now + 3_600_000)).toBe(late ? "expired" : "Verified")
      const signsUrl = preset === "square" || preset === "hubspot" || preset === "trello"
      expect(outcome({ headers, body }, now, `${url}&y=2`)).toBe(signsUrl ? "mismatch" : "Verified")
    })
  }
})

describe("Twilio", () => {
  const example = "https://mycompany.com/myapp.php?foo=1&bar=2"
  const fields = {
    To: "+18005551212",
    CallSid: "CA1234567890ABCDE",
    From: "+12349013030",
    Caller: "+12349013030",
    Digits: "1234"
  }
  const sent = (fields: Iterable<readonly [string, string]>, signature: string, type = form): Sent => ({
    headers: { ...type, "x-twilio-signature": signature },
    body: new URLSearchParams(Array.from(fields, ([name, value]): [string, string] => [name, value])).toString()
  })
  const outcome = (sent: Sent, calledAs = example) => verdictOf({ preset: "twilio" }, "12345", sent, now, calledAs)

  it("its own example, by the fields in any order, and not with another field or URL", () => {
    const signature = "0/KCTR6DLpKmkAf8muzZqo1nDgQ="
    const call = sent(Object.entries(fields), signature)
    expect(outcome(call)).toStrictEqual({ _tag: "Verified", delivery_id: "CA1234567890ABCDE" })
    expect(outcome(sent(Object.entries(fields).reverse(), signature))).toMatchObject({ _tag: "Verified" })
    expect(outcome(call, `${example}&x=1`)).toMatchObject({ cause: "mismatch" })
    expect(outcome(sent([...Object.entries(fields), ["Body", "x"]], signature))).toMatchObject({ cause: "mismatch" })
  })

  it("a field that comes more than once, and text of any language", () => {
    const text = "MediaUrlaMediaUrlbMessageSidSM1Textgrüße 😀"
    const pairs = [
      ["Text", "grüße 😀"],
      ["MediaUrl", "b"],
      ["MessageSid", "SM1"],
      ["MediaUrl", "a"],
      ["MediaUrl", "a"]
    ] as const
    const signature = hmac("12345", example + text, "base64", "sha1")
    expect(outcome(sent(pairs, signature))).toMatchObject({ _tag: "Verified", reply: { at: { form: "MessageSid" } } })
  })

  it("refuses JSON, of which nothing would be signed but the URL", () => {
    const signature = hmac("12345", example, "base64", "sha1")
    expect(outcome({ ...sent([], signature, json), body: "{}" })).toMatchObject({ cause: "malformed" })
    expect(outcome(sent([], signature))).toMatchObject({ _tag: "Verified" })
  })
})

describe("a public key", () => {
  const pairs = {
    Ed25519: generateKeyPairSync("ed25519"),
    RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    ECDSA: generateKeyPairSync("ec", { namedCurve: "P-256" })
  }
  const keyOf = (type: keyof typeof pairs) =>
    pairs[type].publicKey.export({ format: "der", type: "spki" }).toString("base64")
  const header = "X-Twilio-Email-Event-Webhook-Signature"
  const timed = "X-Twilio-Email-Event-Webhook-Timestamp"
  const outcome = (options: Partial<Options>, key: string, sent: Sent, at = now) => {
    const verdict = verdictOf({ preset: "public-key", header, ...options }, key, sent, at)
    return verdict._tag === "Refused" ? verdict.cause : verdict._tag
  }

  for (const type of ["Ed25519", "RSA", "ECDSA"] as const) {
    const signed = (text: string) =>
      sign(type === "Ed25519" ? null : "sha256", Buffer.from(text), pairs[type].privateKey).toString("base64")

    it(`of ${type} checks what its private key has signed, alone or with the time`, () => {
      const key = keyOf(type)
      expect(faultOf(describeSender({ preset: "public-key", header }, key), key)).toBeUndefined()
      const sent = { headers: { [header.toLowerCase()]: signed(body) }, body }
      expect(outcome({}, key, sent)).toBe("Verified")
      expect(outcome({}, key, { ...sent, body: `${body} ` })).toBe("mismatch")
      expect(outcome({}, keyOf(type === "RSA" ? "ECDSA" : "RSA"), sent)).toBe("mismatch")
      const late = { [timed.toLowerCase()]: seconds, [header.toLowerCase()]: signed(seconds + body) }
      expect(outcome({ timestamp_header: timed }, key, { headers: late, body })).toBe("Verified")
      expect(outcome({ timestamp_header: timed }, key, { headers: late, body }, now + 3_600_000)).toBe("expired")
    })
  }

  it("is refused if it is none, of another kind, or one with which anyone can sign", () => {
    const fault = (key: string) => faultOf(describeSender({ preset: "public-key", header }, key), key)
    expect(fault("no key")).toMatch(/^must be the public key of Ed25519, RSA or ECDSA/)
    const other = generateKeyPairSync("x25519").publicKey.export({ format: "der", type: "spki" }).toString("base64")
    expect(fault(other)).toMatch(/^must be the public key of/)
    const weak = Buffer.from(`302a300506032b6570032100${"00".repeat(32)}`, "hex").toString("base64")
    expect(fault(weak)).toMatch(/^must be a secure public key/)
  })
})

describe("handshakes, if they are signed", () => {
  const signedBy = (wanted: PresetName) => vendors.find(([preset]) => preset === wanted)!
  const answerTo = (preset: PresetName, body: string, more: Record<string, string> = {}) => {
    const [, key, signed] = signedBy(preset)
    const unsigned = verdictOf({ preset }, key, { headers: { ...json, ...signed("other"), ...more }, body })
    expect(unsigned).toMatchObject({ cause: "mismatch" })
    return verdictOf({ preset }, key, { headers: { ...json, ...signed(body), ...more }, body })
  }

  it("Discord's PING, and its commands get an answer that is deferred", () => {
    expect(answerTo("discord", '{"type":1,"id":"1"}')).toStrictEqual({ _tag: "Handshake", json: { type: 1 } })
    expect(answerTo("discord", '{"type":2,"id":"1"}')).toMatchObject({ delivery_id: "1", reply: { body: { type: 5 } } })
  })

  it("Zoom's URL validation, with the HMAC of its token", () => {
    const body = '{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}'
    const plainToken = "qgg8vlvZRS6UYooatFL8Aw"
    expect(answerTo("zoom", body)).toStrictEqual({
      _tag: "Handshake",
      echo: plainToken,
      json: { plainToken, encryptedToken: hmac(secret, plainToken) }
    })
  })

  it("Twitch's challenge, and the end of a subscription", () => {
    const type = (is: string) => ({ "twitch-eventsub-message-type": is })
    const challenge = answerTo("twitch", '{"challenge":"pogchamp"}', type("webhook_callback_verification"))
    expect(challenge).toStrictEqual({ _tag: "Handshake", echo: "pogchamp" })
    expect(answerTo("twitch", "{}", type("revocation"))).toStrictEqual({ _tag: "Handshake" })
  })
})

describe("Microsoft Graph", () => {
  const outcome = (body: unknown) => {
    const verdict = verdictOf({ preset: "microsoft-graph" }, secret, { headers: json, body: JSON.stringify(body) })
    return verdict._tag === "Refused" ? verdict.cause : verdict
  }
  const change = { changeType: "created", clientState: secret }

  it("takes notifications that all repeat the secret, and gives them no ID", () => {
    expect(outcome({ value: [change, { ...change, changeType: "updated" }] })).toStrictEqual({ _tag: "Verified" })
    for (const other of ["", "x", `${secret}x`]) {
      expect(outcome({ value: [change, { ...change, clientState: other }] }), other).toBe("mismatch")
    }
    for (const body of [{}, { value: [] }, { value: {} }, { value: [change, {}] }, { clientState: secret }, [change]]) {
      expect(outcome(body), JSON.stringify(body)).toBe("missing")
    }
  })
})

describe("Azure Event Grid", () => {
  const options = { preset: "event-grid", header: "X-Webhook-Secret" } as const
  const deliveryOf = (body: unknown) =>
    verdictOf(options, secret, { headers: { ...json, "x-webhook-secret": secret }, body: JSON.stringify(body) })

  it("knows a single event by its ID, and no list of several, of which a repeat may lack one", () => {
    const known = { _tag: "Verified", delivery_id: "e-1" }
    expect(deliveryOf({ specversion: "1.0", id: "e-1" })).toStrictEqual(known)
    expect(deliveryOf([{ id: "e-1" }])).toStrictEqual(known)
    expect(deliveryOf([{ id: "e-1" }, { id: "e-2" }])).toStrictEqual({ _tag: "Verified" })
  })
})

describe("any service, as the webhook describes it", () => {
  const of = (more: object): Options => ({ preset: "hmac", header: "X-Signature", ...more })
  const causeOf = (options: Options, key: string, headers: Record<string, string>, at?: number) => {
    const verdict = verdictOf(options, key, { headers: { ...json, ...headers }, body }, at)
    return verdict._tag === "Refused" ? verdict.cause : verdict._tag
  }

  it("with the time in the signature's header", () => {
    const options = of({ prefix: "h1=", separator: ";", timestamp_prefix: "ts=", timestamp_unit: "milliseconds" })
    const headers = { "x-signature": `ts=${now};h1=${hmac(secret, `${now}.${body}`)}` }
    expect(causeOf(options, secret, headers)).toBe("Verified")
    expect(causeOf(options, secret, headers, now + 301_000)).toBe("expired")
    expect(causeOf(options, secret, { "x-signature": headers["x-signature"].replace("ts=", "t=") })).toBe("missing")
  })

  it("with a date and time, which must be one", () => {
    const options = of({ timestamp_header: "X-Time", timestamp_unit: "iso" })
    const headers = (at: string) => ({ "x-signature": hmac(secret, `${at}.${body}`), "x-time": at })
    for (const at of [iso, "2026-05-04T10:15:12+02:00", "2026-05-04T08:15:12.345678901Z"]) {
      expect(causeOf(options, secret, headers(at)), at).toBe("Verified")
    }
    for (const at of [seconds, "2026-05-04", "2026-13-04T08:15:12Z", "Mon, 04 May 2026 08:15:12 GMT"]) {
      expect(causeOf(options, secret, headers(at)), at).toBe("malformed")
    }
  })

  it("with a key in base64", () => {
    const key = Buffer.from([0, 255, 128, 7]).toString("base64")
    const options = of({ key_encoding: "base64" })
    expect(causeOf(options, key, { "x-signature": hmac(Buffer.from(key, "base64"), body) })).toBe("Verified")
    expect(causeOf(options, key, { "x-signature": hmac(key, body) })).toBe("mismatch")
    expect(faultOf(describeSender(options, "no base64!"), "no base64!")).toBe("must be base64")
    expect(faultOf(describeSender({ preset: "discord" }, "xyz"), "xyz")).toBe("must be in hex")
  })
})
