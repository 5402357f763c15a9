import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { asWhole } from "../../api/List.ts"
import { pageSize } from "../../api/PageSize.ts"
import { Alerts } from "../../engine/alert/Alerts.ts"
import { Settings } from "../../engine/Settings.ts"
import * as TeamScope from "../access/TeamScope.ts"
import * as Body from "../request/Body.ts"
import { refusing } from "../request/Handlers.ts"
import { given } from "./DestinationsHandlers.ts"

export const layer = HttpApiBuilder.group(Api, "alerts", (handlers) =>
  Effect.gen(function* () {
    const alerts = yield* Alerts
    const { maxBody } = yield* Settings

    return refusing(handlers)
      .handle("list", ({ query: { limit = pageSize.default, ...filter } }) =>
        TeamScope.ofActor.pipe(
          Effect.flatMap((owners) => alerts.alerts({ limit, ...given(filter), ...owners })),
          asWhole
        )
      )
      .handle("rules", () => alerts.rules.pipe(asWhole))
      .handleRaw("createRule", ({ request }) =>
        Body.readObject(request, maxBody).pipe(Effect.flatMap(alerts.createRule))
      )
      .handleRaw("editRule", ({ params: { rule_id }, request }) =>
        Body.readObject(request, maxBody).pipe(Effect.flatMap((edit) => alerts.editRule(rule_id, edit)))
      )
      .handle("deleteRule", ({ params: { rule_id } }) => alerts.removeRule(rule_id))
  })
)
