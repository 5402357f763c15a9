import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { asWhole } from "../../api/List.ts"
import { pageSize } from "../../api/PageSize.ts"
import { Alerts } from "../../engine/alert/Alerts.ts"
import { Destinations } from "../../engine/delivery/Destinations.ts"
import { Settings } from "../../engine/Settings.ts"
import * as TeamScope from "../access/TeamScope.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"
import { given } from "./DestinationsHandlers.ts"

export const layer = HttpApiBuilder.group(Api, "alerts", (handlers) =>
  Effect.gen(function* () {
    const alerts = yield* Alerts
    const destinations = yield* Destinations
    const { maxBody } = yield* Settings

    return handlers
      .handle("list", ({ urlParams: { limit = pageSize.default, ...filter } }) =>
        TeamScope.ofActor.pipe(
          Effect.flatMap((owners) => alerts.alerts({ limit, ...given(filter), ...owners })),
          asWhole,
          Effect.mapError(Problems.of)
        )
      )
      .handle("rules", () => alerts.rules.pipe(asWhole, Effect.mapError(Problems.of)))
      .handleRaw("createRule", ({ request }) =>
        Body.readObject(request, maxBody).pipe(Effect.flatMap(alerts.createRule), Effect.mapError(Problems.of))
      )
      .handleRaw("editRule", ({ path: { rule_id }, request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((edit) => alerts.editRule(rule_id, edit)),
          Effect.mapError(Problems.of)
        )
      )
      .handle("deleteRule", ({ path: { rule_id } }) => Effect.mapError(alerts.removeRule(rule_id), Problems.of))
      .handleRaw("checkDestination", ({ request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((draft) => destinations.check("alerts", draft)),
          Effect.asVoid,
          Effect.mapError(Problems.of)
        )
      )
  })
)
