import { Effect, Fiber, type Layer, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Email } from "../../../src/engine/delivery/kinds/Sender.ts"
import { Mailer } from "../../../src/engine/delivery/mail/Mailer.ts"
import { parseSmtpUrl } from "../../../src/engine/delivery/mail/SmtpServer.ts"
import { expect, it } from "../../support/It.ts"
import { mailServer } from "../../support/MailServer.ts"
import { untilEffect } from "../../support/Until.ts"

const email: Email = {
  ...{ id: "one", to: ["ops@example.com"], subject: "a run", text: "done", html: "<p>done</p>" },
  at: new Date(0)
}

it.effect(
  "an e-mail waits for others without a fault of its destination, and has the whole time once it has begun",
  function* () {
    const { ca, received, url } = yield* mailServer({ replies: ["hang"] })
    const server = Option.getOrThrow(parseSmtpUrl(url))
    const from = { name: "", address: "hooks@sender.example" }
    const { send } = yield* Effect.provide(
      Mailer,
      Mailer.layer(Option.some({ server, from, ca })) as Layer.Layer<never>
    )
    const sending = yield* Effect.forEach(Array(21), () => Effect.forkChild(Effect.result(send(email))))
    const sent = (count: number) =>
      untilEffect(
        `the mail server has ${count} e-mails`,
        Effect.sync(() => received.length === count)
      )
    const answers = (from: number, to: number) =>
      Effect.map(Fiber.joinAll(sending.slice(from, to)), (results) =>
        results.map((result) => (Result.isFailure(result) ? result.failure : result.success))
      )
    const unanswered = Array(10).fill(expect.objectContaining({ reason: "no answer within 15s" }))
    yield* sent(10)
    yield* TestClock.adjust("15 seconds")
    expect(yield* answers(0, 10)).toEqual(unanswered)
    yield* sent(20)
    yield* TestClock.adjust("5 seconds")
    expect(yield* answers(20, 21)).toMatchObject([{ reason: "the server is sending too many e-mails", isBusy: true }])
    expect(sending[10]!.pollUnsafe()).toBeUndefined()
    yield* TestClock.adjust("10 seconds")
    expect(yield* answers(10, 20)).toEqual(unanswered)
  }
)
