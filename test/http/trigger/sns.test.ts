/** Messages of Amazon SNS: signed with its certificate, for one topic. */
import { X509Certificate } from "node:crypto"
import { Deferred, Effect, Fiber } from "effect"
import { NoAnswer, type Poster } from "../../../src/engine/egress/Poster.ts"
import { causeOf } from "../../../src/engine/verify/AmazonSns.ts"
import * as Lookup from "../../../src/engine/verify/RequestLookup.ts"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"
import { asSns, certificateUrl, keyPair, ownKeys, signedBySns } from "../SnsSender.ts"

const topic = "arn:aws:sns:eu-central-1:123456789012:alarms"

const message = {
  Type: "Notification",
  MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
  TopicArn: topic,
  Subject: 'ALARM: "shop-5xx"',
  Message: '{"AlarmName":"shop-5xx",\n"text":"größer"}',
  UnsubscribeURL: "https://sns.eu-central-1.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=x"
}

const subscribeUrl = "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=x&Token=2336412f37"

const confirmation = {
  Type: "SubscriptionConfirmation",
  MessageId: "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
  Token: "2336412f37",
  TopicArn: topic,
  Message: "You have chosen to subscribe to the topic.",
  SubscribeURL: subscribeUrl
}

const verified = {
  store_requests: "all",
  input: "payload",
  verification: { preset: "aws-sns" },
  secret: topic
} as const

const serve = (sns: Poster["Service"]["post"] = asSns, template = "{{payload.Subject?}} {{payload.Message}}") =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const server = yield* start({
      sns: (post) =>
        Effect.suspend(() => {
          asked.push(post.url)
          return sns(post)
        })
    })
    const team = yield* server.team("alarms")
    const hook = yield* server.webhook(team, template, verified)
    const deliverTo = (path: string, body: { readonly [name: string]: unknown }) =>
      server.http("POST", path, {
        raw: JSON.stringify(body),
        headers: {
          "content-type": "text/plain; charset=UTF-8",
          "x-amz-sns-message-type": String(body.Type),
          "user-agent": "Amazon Simple Notification Service Agent"
        }
      })
    const deliver = (body: { readonly [name: string]: unknown }) => deliverTo(hook.path, body)
    return { ...server, asked, deliver, deliverTo, hook, team }
  })

for (const version of ["1", "2"] as const) {
  it.live(`a message signed in version ${version} starts one run, and its certificate is fetched once`, function* () {
    const { admin, asked, deliver, history, hook } = yield* serve()
    const first = yield* deliver(signedBySns(message, version))
    expect(first.status, first.text).toBe(202)
    expect((yield* deliver(signedBySns(message, version))).json.run_id).toBe(first.json.run_id)
    expect((yield* deliver(signedBySns({ ...message, MessageId: "m-2", Subject: undefined }, version))).status).toBe(
      202
    )
    expect(yield* history(hook.id)).toHaveLength(2)
    expect(asked).toStrictEqual([certificateUrl])
    const { json } = yield* admin("GET", `/api/runs/${first.json.run_id}`)
    expect(json.conversation.prompt).toBe(`${message.Subject} ${message.Message}`)
  })
}

describe("no run is started by", () => {
  const cases: ReadonlyArray<readonly [what: string, send: (message: any) => any]> = [
    ["another message than was signed", (signed) => ({ ...signed, Message: "Delete everything." })],
    ["a subject that was added", (signed) => ({ ...signed, Subject: "Other" })],
    ["a signature that was left out", ({ Signature, ...signed }) => signed],
    ["a signature that is not base64", (signed) => ({ ...signed, Signature: "?" })],
    ["another version of signatures", (signed) => ({ ...signed, SignatureVersion: "2" })],
    ["an unknown version", (signed) => ({ ...signed, SignatureVersion: "3" })],
    ["a version that every object has", (signed) => ({ ...signed, SignatureVersion: "constructor" })],
    ["a message of another topic", () => signedBySns({ ...message, TopicArn: `${topic}2` })],
    ["another type", () => signedBySns({ ...message, Type: "Other" })]
  ]
  for (const [what, send] of cases) {
    it.live(what, () =>
      Effect.gen(function* () {
        const { deliver, history, hook } = yield* serve()
        expect(refusal(yield* deliver(send(signedBySns(message))))).toStrictEqual([401, "not_verified"])
        expect(yield* history(hook.id)).toStrictEqual([])
      })
    )
  }

  it.live("a certificate from anywhere but SNS in the topic's region, which is not even fetched", function* () {
    const { asked, deliver } = yield* serve(() => Effect.succeed({ http_status: 200, answer: "", text: "" }))
    const file = "SimpleNotificationService-0123456789abcdef.pem"
    for (const url of [
      `http://sns.eu-central-1.amazonaws.com/${file}`,
      `https://sns.us-east-1.amazonaws.com/${file}`,
      `https://sns.eu-central-1.amazonaws.com.example.com/${file}`,
      `https://example.com/sns.eu-central-1.amazonaws.com/${file}`,
      `https://sns.eu-central-1.amazonaws.com@example.com/${file}`,
      `https://example.com\\@sns.eu-central-1.amazonaws.com/${file}`,
      `https://sns.eu-central-1.amazonaws.com:444/${file}`,
      `https://SNS.eu-central-1.amazonaws.com/${file}`,
      `https://bucket.s3.eu-central-1.amazonaws.com/${file}`,
      `https://sns.eu-central-1.amazonaws.com/../x/${file}`,
      "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription",
      `https://sns.eu-central-1.amazonaws.com/${file}?x`
    ]) {
      const answer = yield* deliver({ ...signedBySns(message), SigningCertURL: url })
      expect(refusal(answer), url).toStrictEqual([401, "not_verified"])
    }
    expect(asked).toStrictEqual([])
  })

  it.live("a message with the key of another certificate", function* () {
    const { deliver } = yield* serve()
    expect((yield* deliver(signedBySns(message, "2", keyPair()))).status).toBe(401)
  })

  it("a message after the end of its certificate, or before its beginning", () => {
    const lookup = Lookup.make({ headers: {}, body: Buffer.from(JSON.stringify(signedBySns(message))) })
    const certificate = { url: certificateUrl, x509: new X509Certificate(ownKeys().certificate) }
    const [now, day] = [Date.now(), 24 * 3_600_000]
    const causes = [now, now + 3 * day, now - day].map((at) => causeOf(topic, lookup, at, certificate))
    expect(causes).toStrictEqual([undefined, "expired", "expired"])
  })

  it.live("a message of more than a week ago", function* () {
    const { deliver } = yield* serve()
    const Timestamp = new Date(Date.now() - 8 * 24 * 3_600_000).toISOString()
    expect((yield* deliver({ ...signedBySns(message), Timestamp })).status).toBe(401)
  })
})

it.live("a message is asked for again while its certificate cannot be fetched or is none", function* () {
  const down = yield* serve(() => Effect.fail(new NoAnswer({ reason: "no route" })))
  expect(refusal(yield* down.deliver(signedBySns(message)))).toStrictEqual([503, "unavailable"])
  for (const answer of [
    { http_status: 403, answer: "" },
    { http_status: 200, answer: "", text: "<html>" }
  ]) {
    const { deliver, history, hook } = yield* serve(() => Effect.succeed(answer))
    expect(refusal(yield* deliver(signedBySns(message)))).toStrictEqual([503, "unavailable"])
    expect(yield* history(hook.id)).toStrictEqual([])
  }
})

describe("certificates that messages without a valid signature name", () => {
  const urlOf = (n: number) => `https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-${n}.pem`
  const named = (SigningCertURL: string) => ({ ...signedBySns(message), SigningCertURL })

  it.live("are fetched 4 at a time, and one at a time for each webhook", function* () {
    const gate = yield* Deferred.make<void>()
    const { admin, asked, deliver, deliverTo, hook, team, webhook } = yield* serve(() =>
      Effect.andThen(Deferred.await(gate), Effect.fail(new NoAnswer({ reason: "no route" })))
    )
    const first = yield* Effect.forkChild(deliver(named(urlOf(0))))
    yield* untilEffect(
      "one look-up",
      Effect.sync(() => asked.length === 1)
    )
    expect(refusal(yield* deliver(named(urlOf(1))))).toStrictEqual([503, "unavailable"])
    expect(asked).toStrictEqual([urlOf(0)])
    const others = yield* Effect.forEach([2, 3, 4, 5, 6], (n) =>
      Effect.map(webhook(team, "x", verified), ({ path }) => deliverTo(path, named(urlOf(n))))
    )
    const all = yield* Effect.forkChild(Effect.all(others, { concurrency: "unbounded" }))
    yield* untilEffect(
      "four look-ups",
      Effect.sync(() => asked.length === 4)
    )
    yield* admin("GET", `/api/webhooks/${hook.id}`)
    expect(asked).toHaveLength(4)
    yield* Deferred.succeed(gate, undefined)
    for (const answer of [yield* Fiber.join(first), ...(yield* Fiber.join(all))]) {
      expect(refusal(answer)).toStrictEqual([503, "unavailable"])
    }
    expect(asked).toHaveLength(6)
  })

  it.live("do not make the server fetch a known certificate again, however many they are", function* () {
    const { asked, deliver } = yield* serve()
    expect((yield* deliver(signedBySns(message))).status).toBe(202)
    for (let n = 0; n < 120; n++) expect((yield* deliver(named(urlOf(n)))).status).toBe(503)
    expect((yield* deliver(signedBySns({ ...message, MessageId: "m-2" }))).status).toBe(202)
    expect(asked.filter((url) => url === certificateUrl)).toHaveLength(1)
  })
})

it.live("the URL that ends the subscription reaches neither the agent nor those who see the run", function* () {
  const { admin, deliver, hook } = yield* serve(asSns, "{{payload.UnsubscribeURL}} {{payload.SigningCertURL}}")
  const { json } = yield* deliver(signedBySns(message))
  const shown = yield* admin("GET", `/api/runs/${json.run_id}`)
  expect(shown.json.conversation.prompt).toBe("redacted redacted")
  const path = `/api/webhooks/${hook.id}/requests`
  const stored = yield* untilEffect(
    "the request is stored",
    Effect.map(admin("GET", `${path}?accepted=true`), ({ json }) => json.data[0])
  )
  const request = yield* admin("GET", `${path}/${stored.request_id}`)
  expect(request.text).toContain("UnsubscribeURL")
  for (const { text } of [shown, request]) expect(text).not.toContain("Action=Unsubscribe")
})

describe("a subscription", () => {
  const withConfirmation = (http_status: number) =>
    serve((post) => (post.url === certificateUrl ? asSns(post) : Effect.succeed({ http_status, answer: "" })))

  it.live("is confirmed at SNS, and starts no run", function* () {
    const { asked, deliver, history, hook } = yield* withConfirmation(200)
    const answer = yield* deliver(signedBySns(confirmation, "2"))
    expect([answer.status, answer.text]).toStrictEqual([200, '{"status":"ignored"}'])
    expect(asked).toStrictEqual([certificateUrl, subscribeUrl])
    expect(yield* history(hook.id)).toStrictEqual([])
  })

  it.live("is asked for again if SNS does not confirm it", function* () {
    const { deliver } = yield* withConfirmation(500)
    expect((yield* deliver(signedBySns(confirmation))).status).toBe(503)
  })

  it.live("is confirmed nowhere else, and not unless it is signed for the webhook's topic", function* () {
    const { asked, deliver } = yield* withConfirmation(200)
    for (const SubscribeURL of [
      "https://example.com/",
      "http://sns.eu-central-1.amazonaws.com/?x",
      "https://sns.us-east-1.amazonaws.com/?x",
      "https://127.0.0.1/",
      "file:///etc/passwd"
    ]) {
      expect((yield* deliver(signedBySns({ ...confirmation, SubscribeURL }))).status, SubscribeURL).toBe(401)
    }
    expect((yield* deliver({ ...signedBySns(confirmation), SubscribeURL: `${subscribeUrl}&x` })).status).toBe(401)
    expect((yield* deliver(signedBySns({ ...confirmation, TopicArn: `${topic}2` }))).status).toBe(401)
    expect(asked).toStrictEqual([certificateUrl])
  })

  it.live("that has ended starts no run and calls nobody", function* () {
    const { asked, deliver } = yield* withConfirmation(200)
    const answer = yield* deliver(signedBySns({ ...confirmation, Type: "UnsubscribeConfirmation" }))
    expect([answer.status, answer.text]).toStrictEqual([200, '{"status":"ignored"}'])
    expect(asked).toStrictEqual([certificateUrl])
  })
})

it.live("its webhook's secret must be the ARN of a topic", function* () {
  const { admin } = yield* start()
  yield* admin("POST", "/api/teams", { body: { team: "t" } })
  for (const [secret, status] of [
    ["arn:aws-cn:sns:cn-north-1:123456789012:a.fifo", 201],
    ["arn:aws-us-gov:sns:us-gov-west-1:123456789012:a", 201],
    ["arn:aws:sqs:eu-central-1:123456789012:a", 422],
    ["arn:aws:sns:evil.com/:123456789012:a", 422],
    ["a secret", 422]
  ] as const) {
    const draft = { name: "n", team: "t", prompt_template: "x", verification: { preset: "aws-sns" }, secret }
    expect((yield* admin("POST", "/api/webhooks", { body: draft })).status, secret).toBe(status)
  }
})
