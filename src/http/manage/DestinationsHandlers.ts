import { HttpApiBuilder } from "@effect/platform"
import { Duration, Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { asWhole } from "../../api/List.ts"
import { pageSize } from "../../api/PageSize.ts"
import { secretOverlapSeconds } from "../../api/webhook/Overlap.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { Destinations } from "../../engine/delivery/Destinations.ts"
import { Settings } from "../../engine/Settings.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"
import { given, withSecret } from "./DestinationAnswers.ts"

export const layer = HttpApiBuilder.group(Api, "destinations", (handlers) =>
  Effect.gen(function* () {
    const destinations = yield* Destinations
    const { maxBody } = yield* Settings

    return handlers
      .handle("list", ({ path: { id } }) => destinations.list(id).pipe(asWhole, Effect.mapError(Problems.of)))
      .handleRaw("create", ({ path: { id }, request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((draft) => destinations.create(id, draft)),
          Effect.map(withSecret),
          Effect.mapError(Problems.of)
        )
      )
      .handle("show", ({ path: { destination_id, id } }) =>
        Effect.mapError(destinations.show(id, destination_id), Problems.of)
      )
      .handleRaw("edit", ({ path: { destination_id, id }, request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((edit) => destinations.edit(id, destination_id, edit)),
          Effect.mapError(Problems.of)
        )
      )
      .handle("delete", ({ path: { destination_id, id } }) =>
        Effect.mapError(destinations.remove(id, destination_id), Problems.of)
      )
      .handle(
        "rotateSecret",
        ({ path: { destination_id, id }, urlParams: { overlap_seconds = secretOverlapSeconds } }) =>
          destinations
            .rotateSecret(id, destination_id, Duration.seconds(overlap_seconds))
            .pipe(Effect.map(withSecret), Effect.mapError(Problems.of))
      )
      .handle("test", ({ path: { destination_id, id } }) =>
        Effect.mapError(destinations.test(id, destination_id), Problems.of)
      )
      .handle("resendFailed", ({ path: { destination_id, id }, urlParams: { since } }) =>
        destinations.resendFailed(id, destination_id, since).pipe(
          Audit.recordDone("delivery.resent", destination_id, (resent) => ({ resent })),
          Effect.map((resent) => ({ resent })),
          Effect.mapError(Problems.of)
        )
      )
      .handle("deliveries", ({ path: { id }, urlParams: { limit = pageSize.default, ...filter } }) =>
        Effect.mapError(destinations.deliveries(id, { limit, ...given(filter) }), Problems.of)
      )
      .handle("delivery", ({ path: { delivery_id, id } }) =>
        Effect.mapError(destinations.delivery(id, delivery_id), Problems.of)
      )
      .handle("resend", ({ path: { delivery_id, id } }) =>
        destinations
          .resend(id, delivery_id)
          .pipe(Audit.recordDone("delivery.resent", delivery_id), Effect.mapError(Problems.of))
      )
  })
)
