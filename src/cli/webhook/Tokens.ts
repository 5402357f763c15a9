/** Replacing a webhook's token. */
import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { maxOverlapSeconds } from "../../api/webhook/Overlap.ts"
import { WebhookWithToken } from "../../api/webhook/Tokens.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, done, show } from "../Connection.ts"
import { printable, time } from "../Output.ts"
import { validated, wholeNumber } from "../Validated.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"
import { describeToken } from "./WebhookText.ts"

const overlap = Options.text("overlap").pipe(
  Options.withPseudoName("seconds"),
  Options.withDescription("How long the old token stays valid, up to 30 days; default: 0"),
  Options.mapTryCatch(...validated("--overlap", wholeNumber(0, maxOverlapSeconds))),
  Options.withDefault(0)
)

export const regenerate = Command.make("regenerate", { webhook, overlap, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const regenerated = yield* callOnWebhook(options, (client, { id, name, token_hint }) =>
      Effect.zipRight(
        confirm(
          options.yes,
          options.overlap > 0
            ? `Replace the token ${token_hint} of ${printable(name)}? Its callers get 404 after the overlap.`
            : `Replace the token ${token_hint} of ${printable(name)}? Its callers get 404 immediately.`
        ),
        client.webhooks.regenerate({
          path: { id },
          urlParams: { overlap_seconds: options.overlap }
        })
      )
    )
    yield* show(options, WebhookWithToken, regenerated, () =>
      describeToken(
        `Webhook ${printable(regenerated.webhook.name)} has a new token; the old one ${
          regenerated.webhook.old_token_valid_until === undefined
            ? "no longer works"
            : `works until ${time(regenerated.webhook.old_token_valid_until)}`
        }.`,
        regenerated
      )
    )
  })
).pipe(Command.withDescription("Replace a webhook's token and print the new trigger URL, once"))

export const endOldToken = Command.make("end-old-token", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* callOnWebhook(options, (client, { id }) => client.webhooks.endOldToken({ path: { id } }))
    yield* done(options, "The old token no longer works.")
  })
).pipe(Command.withDescription("End the old token that `regenerate --overlap` left valid"))
