import { Effect, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Actor } from "../../api/access/Auth.ts"
import { type Created, maxConfiguration } from "../../api/Configuration.ts"
import { triggerUrl } from "../../api/run/TriggerUrl.ts"
import { mayDo } from "../../domain/access/Roles.ts"
import * as Configuration from "../../engine/config/Configuration.ts"
import { lacksRole } from "../access/Authorization.ts"
import * as Body from "../request/Body.ts"
import { refusing } from "../request/Handlers.ts"
import * as Problems from "../request/Problems.ts"
import { makeTriggerOriginFor } from "../request/PublicUrl.ts"
import { expectedVersions } from "../request/VersionTags.ts"

export const layer = HttpApiBuilder.group(Api, "config", (handlers) =>
  Effect.gen(function* () {
    const apply = yield* Configuration.make
    const originFor = yield* makeTriggerOriginFor

    const shown = (
      request: HttpServerRequest.HttpServerRequest,
      created: Configuration.Created
    ): ReadonlyArray<Created> => {
      if ("secret" in created) return [created]
      const { token, webhook } = created
      if (token === undefined) return []
      const trigger_url = triggerUrl(originFor(request), Redacted.value(token))
      return [{ webhook: webhook.name, id: webhook.id, token: Redacted.value(token), trigger_url }]
    }

    return refusing(handlers).handleRaw("apply", ({ query: { dry_run, prune, reset_secrets }, request }) =>
      Effect.gen(function* () {
        const { role } = (yield* Actor).grant
        const dryRun = dry_run === "true"
        if (!dryRun && !mayDo(role, "edit")) return yield* lacksRole(role, "edit")
        const { created, notDeleted, ...plan } = yield* apply(yield* Body.readObject(request, maxConfiguration), {
          ...{ dryRun, prune: prune === "true", resetSecrets: reset_secrets === "true" },
          versions: expectedVersions(request),
          mayAdminister: mayDo(role, "administer")
        })
        return {
          ...plan,
          created: created.flatMap((one) => shown(request, one)),
          not_deleted: notDeleted.map(({ error, kind, name }) => ({
            kind,
            name,
            detail: Problems.bodyOf(error).detail
          }))
        }
      })
    )
  })
)
