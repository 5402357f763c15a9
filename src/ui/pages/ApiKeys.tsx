import { useState } from "react"
import { pathTo } from "../../api/Pages.ts"
import { roles } from "../../domain/access/Roles.ts"
import { api } from "../api/Client.ts"
import { queries, runAction, useApiKeys } from "../api/Queries.ts"
import type { ApiKey, ApiKeyWithSecret } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { ConfirmDialog } from "../components/ConfirmDialog.tsx"
import { Loaded } from "../components/Loaded.tsx"
import { Page } from "../components/Page.tsx"
import { ShownKey } from "../components/ShownKey.tsx"
import { toast } from "../components/Toasts.tsx"
import { UnsavedKey } from "../components/UnsavedKey.tsx"
import { UserText } from "../components/UserText.tsx"
import { ExactTime, RelativeTime } from "../format/Time.tsx"
import { releaseNavigation, useNavigationGuard } from "../frame/NavigationGuard.ts"
import { NewApiKey } from "./NewApiKey.tsx"
import { WebhookNames } from "./WebhookLimit.tsx"

/** The keys of people and programs. New ones are shown until the user has saved them. */
const ApiKeysPage = () => {
  const keys = useApiKeys()
  const [creating, setCreating] = useState(false)
  const [shown, setShown] = useState<ReadonlyArray<ApiKeyWithSecret>>([])
  const [revoking, setRevoking] = useState<ApiKey>()
  const leaving = useNavigationGuard(shown.length > 0)
  const refresh = () => queries.invalidateQueries({ queryKey: ["api-keys"] })
  const hide = async (key: ApiKeyWithSecret) => {
    const others = shown.filter((each) => each !== key)
    if (others.length === 0) await releaseNavigation()
    setShown(others)
  }
  const revoke = async ({ id, name }: ApiKey) => {
    await runAction(() => api.apiKeys.revoke({ path: { id } }))
    setRevoking(undefined)
    await refresh()
    toast(`API key ${name} revoked`)
  }
  return (
    <Page
      title="API keys"
      back={{ to: pathTo("audit"), text: "Audit" }}
      actions={
        <Button variant="primary" icon="plus" onPress={() => setCreating(true)}>
          New API key
        </Button>
      }
    >
      <p className="muted small">
        People sign in with a key, and programs use it for the API and the command line. A key can be revoked at any
        time.
      </p>
      {shown.map((created) => (
        <ShownKey
          key={created.api_key.id}
          name={created.api_key.name}
          secret={created.key}
          what="the API key"
          onClose={() => void hide(created)}
        />
      ))}
      <Loaded query={keys}>
        {(data) =>
          data.length === 0 ? (
            <div className="card empty">
              <p>No API keys yet.</p>
            </div>
          ) : (
            <ul className="card audit" aria-label="API keys, oldest first">
              {data.map((key) => (
                <Entry key={key.id} apiKey={key} onRevoke={() => setRevoking(key)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {creating && (
        <NewApiKey
          onClose={() => setCreating(false)}
          onCreated={async (created) => {
            setShown([...shown, created])
            setCreating(false)
            await refresh()
          }}
        />
      )}
      {revoking !== undefined && (
        <ConfirmDialog
          title="Revoke this API key?"
          action="Revoke"
          onConfirm={() => revoke(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          <p>
            Programs that use{" "}
            <strong>
              <UserText>{revoking.name}</UserText>
            </strong>{" "}
            are refused from now on, and browsers that signed in with it are signed out.
          </p>
        </ConfirmDialog>
      )}
      {leaving && <UnsavedKey cancel={leaving.cancel} confirm={leaving.confirm} />}
    </Page>
  )
}

const stateOf = ({ expires_at, revoked_at }: ApiKey): "Revoked" | "Expired" | undefined => {
  if (revoked_at !== undefined) return "Revoked"
  return expires_at !== undefined && Date.parse(expires_at) <= Date.now() ? "Expired" : undefined
}

const Entry = ({ apiKey, onRevoke }: { readonly apiKey: ApiKey; readonly onRevoke: () => void }) => {
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
        {apiKey.revoked_at === undefined && (
          <Button compact variant="danger" label={`Revoke ${name}, which ends in ${hint}`} onPress={onRevoke}>
            Revoke
          </Button>
        )}
      </div>
      <p className="small muted">
        {teams === undefined ? "All teams" : `Teams: ${teams.join(", ")}`}.{" "}
        {webhooks !== undefined && <WebhookNames ids={webhooks} />}This role {roles[role].description}.
      </p>
      <p className="small muted">
        Ends in <span className="mono">{hint}</span>, created <ExactTime at={created_at} /> by{" "}
        <UserText>{created_by}</UserText>,{" "}
        {last_used_at === undefined ? (
          "never used"
        ) : (
          <>
            last used <RelativeTime at={last_used_at} />
          </>
        )}
        {expires_at !== undefined && (
          <>
            , expires <ExactTime at={expires_at} />
          </>
        )}
      </p>
    </li>
  )
}

export default ApiKeysPage
