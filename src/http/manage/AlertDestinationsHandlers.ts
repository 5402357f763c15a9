import { HttpApiBuilder } from "@effect/platform"
import { Duration, Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { asWhole } from "../../api/List.ts"
import { pageSize } from "../../api/PageSize.ts"
import { secretOverlapSeconds } from "../../api/webhook/Overlap.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { Destinations } from "../../engine/delivery/Destinations.ts"
import { Settings } from "../../engine/Settings.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"
import { given, withSecret } from "./DestinationAnswers.ts"

/** There is no webhook that could be missing. */
const noWebhook = <A, E, R>(effect: Effect.Effect<A, E | NotFound, R>): Effect.Effect<A, Exclude<E, NotFound>, R> =>
  Effect.catchIf(effect, (error): error is NotFound => error instanceof NotFound, Effect.die) as never

export const layer = HttpApiBuilder.group(Api, "alertDestinations", (handlers) =>
  Effect.gen(function* () {
    const destinations = yield* Destinations
    const { maxBody } = yield* Settings

    return handlers
      .handle("list", () => destinations.list(null).pipe(noWebhook, asWhole, Effect.mapError(Problems.of)))
      .handleRaw("create", ({ request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((draft) => noWebhook(destinations.create(null, draft))),
          Effect.map(withSecret),
          Effect.mapError(Problems.of)
        )
      )
      .handleRaw("check", ({ request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((draft) => destinations.check("alerts", draft)),
          Effect.asVoid,
          Effect.mapError(Problems.of)
        )
      )
      .handle("show", ({ path: { destination_id } }) =>
        Effect.mapError(destinations.show(null, destination_id), Problems.of)
      )
      .handleRaw("edit", ({ path: { destination_id }, request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((edit) => destinations.edit(null, destination_id, edit)),
          Effect.mapError(Problems.of)
        )
      )
      .handle("delete", ({ path: { destination_id } }) =>
        Effect.mapError(destinations.remove(null, destination_id), Problems.of)
      )
      .handle("rotateSecret", ({ path: { destination_id }, urlParams: { overlap_seconds = secretOverlapSeconds } }) =>
        destinations
          .rotateSecret(null, destination_id, Duration.seconds(overlap_seconds))
          .pipe(Effect.map(withSecret), Effect.mapError(Problems.of))
      )
      .handle("test", ({ path: { destination_id } }) =>
        Effect.mapError(destinations.test(null, destination_id), Problems.of)
      )
      .handle("resendFailed", ({ path: { destination_id }, urlParams: { since } }) =>
        destinations.resendFailed(null, destination_id, since).pipe(
          Audit.recordDone("delivery.resent", destination_id, (resent) => ({ resent })),
          Effect.map((resent) => ({ resent })),
          Effect.mapError(Problems.of)
        )
      )
      .handle("deliveries", ({ urlParams: { limit = pageSize.default, ...filter } }) =>
        destinations.deliveries(null, { limit, ...given(filter) }).pipe(noWebhook, Effect.mapError(Problems.of))
      )
      .handle("delivery", ({ path: { delivery_id } }) =>
        Effect.mapError(destinations.delivery(null, delivery_id), Problems.of)
      )
      .handle("resend", ({ path: { delivery_id } }) =>
        destinations
          .resend(null, delivery_id)
          .pipe(Audit.recordDone("delivery.resent", delivery_id), Effect.mapError(Problems.of))
      )
  })
)
