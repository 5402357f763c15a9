/** A real OpenID provider on a port of this machine, whose people sign in without a password. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Duration, Effect, Option, Redacted } from "effect"
import Provider from "oidc-provider"
import type { GroupRole } from "../../src/engine/access/oidc/GroupRoles.ts"
import type { ClientAuthentication, OidcSettings } from "../../src/engine/access/oidc/OidcSettings.ts"

export interface Person {
  readonly id: string
  readonly name?: string
  readonly email?: string
  readonly groups?: unknown
}

export const ada: Person = { id: "ada-1", name: "Ada Lovelace", email: "ada@example.com", groups: ["platform-admins"] }

export const clientId = "webhook-trigger"
export const clientSecret = "a secret: of the client+/=%"

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
const jwk = { ...privateKey.export({ format: "jwk" }), kid: "test", use: "sig", alg: "RS256" }

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

interface Options {
  readonly clientAuthentication?: ClientAuthentication
  /** Whether the claims of a person are in the ID token, and not only in the user information. */
  readonly claimsInIdToken?: boolean
}

export interface OpenIdProvider {
  readonly issuer: string
  /** Who signs in next without being asked; undefined: a page asks. */
  person: Person | undefined
  /** The next person's answer in place of signing in. */
  refusal: { readonly error: string; readonly error_description?: string } | undefined
  /** While true, connections are closed without a response. */
  isDown: boolean
  /** Replaces the response to a request, for answers that a correct provider does not give. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  /** Times that somebody entered their name. */
  readonly signIns: () => number
  /** The addresses of the servers that may use it, without a path. */
  readonly allow: (...origins: ReadonlyArray<string>) => void
  readonly settings: (more?: Partial<OidcSettings>) => OidcSettings
  /** Signs the claims of a token as the provider does. */
  readonly sign: (claims: object, header?: object) => string
  /** Those whom the page offers, by their IDs. */
  readonly people: Map<string, Person>
}

const page = (body: string) => `<!DOCTYPE html><html lang="en"><title>Provider</title><main>${body}</main></html>`

export const roles: ReadonlyArray<GroupRole> = [{ group: "platform-admins", role: "admin" }]

export const startProvider = ({ claimsInIdToken = true, clientAuthentication = "client_secret_basic" }: Options = {}) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let handle: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end()
      let provider: Provider
      let signIns = 0
      // As long as a test runs: Node's own five seconds end a connection that the product is about to use.
      const server = createServer({ keepAliveTimeout: 240_000 }, (request, response) => {
        if (state.isDown) return void request.socket.destroy()
        if (state.intercept?.(request, response)) return
        if (!request.url!.startsWith("/interaction/")) return handle(request, response)
        interact(request, response).catch((error) => response.writeHead(500).end(String(error)))
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const people = new Map<string, Person>()

      const interact = async (request: IncomingMessage, response: ServerResponse) => {
        const { params } = await provider.interactionDetails(request, response)
        const answered = new URL(request.url!, issuer).searchParams.get("person")
        if (state.refusal !== undefined) return provider.interactionFinished(request, response, state.refusal)
        if (state.person !== undefined) people.set(state.person.id, state.person)
        const accountId = state.person?.id ?? answered
        if (accountId === null) {
          const links = [...people.values()].map(
            ({ id, name }) => `<p><a href="?person=${id}">Continue as ${name}</a></p>`
          )
          return void response.setHeader("content-type", "text/html").end(page(links.join("")))
        }
        signIns++
        const grant = new provider.Grant({ accountId, clientId: params.client_id! })
        grant.addOIDCScope(params.scope!)
        if (params.resource !== undefined) grant.addResourceScope(params.resource, params.scope!)
        const result = { login: { accountId }, consent: { grantId: await grant.save() } }
        return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
      }

      const personWith = (id: string): Person => (state.person?.id === id ? state.person : people.get(id)) ?? { id }

      const allow = (...origins: ReadonlyArray<string>) => {
        provider = new Provider(issuer, {
          clients: [
            {
              client_id: clientId,
              ...(clientAuthentication !== "none" && { client_secret: clientSecret }),
              token_endpoint_auth_method: clientAuthentication,
              redirect_uris: origins.map((origin) => `${origin}/sign-in/callback`),
              post_logout_redirect_uris: origins.map((origin) => `${origin}/sign-in`)
            }
          ],
          jwks: { keys: [jwk] },
          cookies: { keys: [randomBytes(16).toString("hex")] },
          claims: { openid: ["sub"], profile: ["name", "groups", "realm"], email: ["email"] },
          conformIdTokenClaims: !claimsInIdToken,
          features: {
            devInteractions: { enabled: false },
            // As AI assistants use: they register themselves, and ask for access tokens for one server.
            registration: { enabled: true },
            resourceIndicators: {
              enabled: true,
              getResourceServerInfo: (_: unknown, resource: string) => ({
                scope: "openid profile email offline_access",
                audience: resource,
                accessTokenFormat: "jwt",
                jwt: { sign: { alg: "RS256" } }
              })
            },
            rpInitiatedLogout: {
              logoutSource: (context: { body: string }, form: string) => {
                context.body = page(
                  `${form}<button autofocus type="submit" form="op.logoutForm" name="logout" value="yes">Yes, sign out</button>`
                )
              }
            }
          },
          extraTokenClaims: (_: unknown, { accountId }: { readonly accountId: string }) => {
            const { id: _id, ...claims } = personWith(accountId)
            return claims
          },
          interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
          findAccount: (_: unknown, id: string) => ({
            accountId: id,
            claims: () => {
              const { id: sub, ...claims } = personWith(id)
              return { sub, ...claims }
            }
          }),
          renderError: (context: { body: string }, { error, error_description }: Record<string, string>) => {
            context.body = page(`${error}: ${error_description}`)
          }
        })
        handle = provider.callback()
      }
      allow("http://127.0.0.1")

      const state: OpenIdProvider & { readonly close: () => Promise<void> } = {
        ...{ issuer, people, allow, isDown: false, person: undefined, refusal: undefined, intercept: undefined },
        signIns: () => signIns,
        sign: (claims, header = {}) => {
          const text = `${part({ alg: "RS256", kid: "test", ...header })}.${part(claims)}`
          return `${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}`
        },
        settings: (more = {}) => ({
          ...{ issuer, clientId, clientAuthentication, scopes: "openid profile email", groupsClaim: "groups", roles },
          clientSecret: clientAuthentication === "none" ? Option.none() : Option.some(Redacted.make(clientSecret)),
          sessionLifetime: Duration.hours(12),
          providerName: "Example",
          ...more
        }),
        close: () =>
          new Promise<void>((resolve) => {
            server.closeAllConnections()
            server.close(() => resolve())
          })
      }
      return state
    }),
    ({ close }) => Effect.promise(close)
  ).pipe(Effect.map((provider): OpenIdProvider => provider))
