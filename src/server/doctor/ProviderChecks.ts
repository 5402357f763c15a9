import { Effect } from "effect"
import type { OidcSettings } from "../../engine/access/oidc/OidcSettings.ts"
import * as Provider from "../../engine/access/oidc/Provider.ts"
import { type Examined, failedAt, oneLine, passed } from "./Check.ts"

const names = ["provider reached", "provider client"]
const [reached, client] = [0, 1]

/** Whether people can sign in at the OpenID provider. Sends it a code that it did not issue, so nobody is signed in. */
export const examineProvider = (settings: OidcSettings): Effect.Effect<Examined> =>
  Effect.gen(function* () {
    const provider = yield* Provider.make(settings)
    return yield* Effect.match(provider.examine, {
      onFailure: ({ detail, problem }) =>
        problem === "provider_unavailable"
          ? failedAt(
              names,
              reached,
              `${settings.issuer}: ${oneLine(detail)}`,
              "Check OIDC_ISSUER, which must equal the `issuer` in the provider's metadata, and that this machine reaches it."
            )
          : failedAt(
              names,
              client,
              oneLine(detail),
              "Check OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and OIDC_CLIENT_AUTH_METHOD against the client at the provider.",
              [settings.issuer]
            ),
      onSuccess: () => passed(names, [settings.issuer, settings.clientId])
    })
  })
