import type { ReactNode } from "react"
import { roles } from "../../domain/access/Roles.ts"
import { api } from "../api/Client.ts"
import { useApiKeys, useWebhooks } from "../api/Queries.ts"
import type { ApiKey } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { KeyList, LastUse } from "../components/KeyList.tsx"
import { Page } from "../components/Page.tsx"
import { UserText } from "../components/UserText.tsx"
import { ExactTime } from "../format/Time.tsx"
import { NewApiKey } from "./NewApiKey.tsx"
import { SettingsSections } from "./SettingsSections.tsx"

/** The keys of people and programs. */
const ApiKeysPage = () => (
  <KeyList
    what="API key"
    query={useApiKeys()}
    queryKey={["api-keys"]}
    dialog={(props) => <NewApiKey {...props} />}
    list={{
      className: "card audit",
      empty: (
        <div className="card empty">
          <p>No API keys yet.</p>
        </div>
      )
    }}
    revoke={(id) => api.apiKeys.revoke({ path: { id } })}
    revoked={(name) => (
      <>Programs that use {name} are refused from now on, and browsers that signed in with it are signed out.</>
    )}
    entry={(key, revoke) => <Entry key={key.id} apiKey={key} revoke={revoke} />}
  >
    {(onNew, keys) => (
      <Page
        title="API keys"
        actions={
          <Button variant="primary" icon="plus" onPress={onNew}>
            New API key
          </Button>
        }
      >
        <SettingsSections current="apiKeys" />
        <p className="muted small">
          People sign in with a key, and programs use it for the API and the command line. A key can be revoked at any
          time.
        </p>
        {keys}
      </Page>
    )}
  </KeyList>
)

const stateOf = ({ expires_at, revoked_at }: ApiKey): "Revoked" | "Expired" | undefined => {
  if (revoked_at !== undefined) return "Revoked"
  return expires_at !== undefined && Date.parse(expires_at) <= Date.now() ? "Expired" : undefined
}

const Entry = ({ apiKey, revoke }: { readonly apiKey: ApiKey; readonly revoke: ReactNode }) => {
  const { created_at, created_by, expires_at, hint, last_used_at, name, role, teams, webhooks } = apiKey
  const state = stateOf(apiKey)
  return (
    <li className="audit-event">
      <div className="row between">
        <span className="row">
          <strong>
            <UserText>{name}</UserText>
          </strong>
          <span className="badge info">{role}</span>
          {state !== undefined && <span className="badge warning">{state}</span>}
        </span>
        {apiKey.revoked_at === undefined && revoke}
      </div>
      <p className="small muted">
        {teams === undefined ? "All teams" : `Teams: ${teams.join(", ")}`}.{" "}
        {webhooks !== undefined && <WebhookNames ids={webhooks} />}This role {roles[role].description}.
      </p>
      <p className="small muted">
        Ends in <span className="mono">{hint}</span>, created <ExactTime at={created_at} /> by{" "}
        <UserText>{created_by}</UserText>, <LastUse at={last_used_at} />
        {expires_at !== undefined && (
          <>
            , expires <ExactTime at={expires_at} />
          </>
        )}
      </p>
    </li>
  )
}

/** The names of the webhooks that a key is limited to, as a sentence. */
const WebhookNames = ({ ids }: { readonly ids: ReadonlyArray<string> }) => {
  const { data } = useWebhooks()
  if (data === undefined) return null
  const names = data.filter(({ id }) => ids.includes(id)).map(({ name }) => name)
  const deleted = ids.length - names.length
  return (
    <>
      Webhooks: <UserText>{[...names, ...(deleted > 0 ? [`${deleted} deleted`] : [])].join(", ")}</UserText>.{" "}
    </>
  )
}

export default ApiKeysPage
