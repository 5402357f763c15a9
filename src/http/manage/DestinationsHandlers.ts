import { Duration, Effect, Layer, Redacted } from "effect"
import { HttpApiBuilder, type HttpApiGroup } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { asWhole } from "../../api/List.ts"
import { pageSize } from "../../api/PageSize.ts"
import { secretOverlapSeconds } from "../../api/webhook/Overlap.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { Destinations, type WithSecret } from "../../engine/delivery/Destinations.ts"
import { Settings } from "../../engine/Settings.ts"
import * as Body from "../request/Body.ts"
import { refusing } from "../request/Handlers.ts"

type Given<A> = { readonly [Field in keyof A]?: Exclude<A[Field], undefined> }

/** The parameters that are there. */
export const given = <A extends object>(parameters: A): Given<A> =>
  Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined)) as Given<A>

type Name = "destinations" | "alertDestinations"

/** The only place that shows a signing secret. */
const withSecret = ({ destination, secret }: WithSecret) => ({
  destination,
  ...(secret !== undefined && { secret: Redacted.value(secret) })
})

/** Both groups have the same endpoints; those of alert destinations have no `id` in their paths. */
const handlersOf = <G extends Name>(name: G) =>
  HttpApiBuilder.group(Api, name as "destinations", (handlers) =>
    Effect.gen(function* () {
      const destinations = yield* Destinations
      const { maxBody } = yield* Settings

      return refusing(handlers)
        .handle("list", ({ params: { id = null } }) => destinations.list(id).pipe(asWhole))
        .handleRaw("create", ({ params: { id = null }, request }) =>
          Body.readObject(request, maxBody).pipe(
            Effect.flatMap((draft) => destinations.create(id, draft)),
            Effect.map(withSecret)
          )
        )
        .handle("show", ({ params: { destination_id, id = null } }) => destinations.show(id, destination_id))
        .handleRaw("edit", ({ params: { destination_id, id = null }, request }) =>
          Body.readObject(request, maxBody).pipe(Effect.flatMap((edit) => destinations.edit(id, destination_id, edit)))
        )
        .handle("delete", ({ params: { destination_id, id = null } }) => destinations.remove(id, destination_id))
        .handle(
          "rotateSecret",
          ({ params: { destination_id, id = null }, query: { overlap_seconds = secretOverlapSeconds } }) =>
            destinations
              .rotateSecret(id, destination_id, Duration.seconds(overlap_seconds))
              .pipe(Effect.map(withSecret))
        )
        .handle("test", ({ params: { destination_id, id = null } }) => destinations.test(id, destination_id))
        .handle("resendFailed", ({ params: { destination_id, id = null }, query: { since } }) =>
          destinations.resendFailed(id, destination_id, since).pipe(
            Audit.recordDone("delivery.resent", destination_id, (resent) => ({ resent })),
            Effect.map((resent) => ({ resent }))
          )
        )
        .handle("deliveries", ({ params: { id = null }, query: { limit = pageSize.default, ...filter } }) =>
          destinations.deliveries(id, { limit, ...given(filter) })
        )
        .handle("delivery", ({ params: { delivery_id, id = null } }) => destinations.delivery(id, delivery_id))
        .handle("resend", ({ params: { delivery_id, id = null } }) =>
          destinations.resend(id, delivery_id).pipe(Audit.recordDone("delivery.resent", delivery_id))
        )
    })
  ) as unknown as Layer.Layer<HttpApiGroup.Service<"webhook-trigger", G>, never, Destinations | Settings>

export const layer = Layer.merge(handlersOf("destinations"), handlersOf("alertDestinations"))
