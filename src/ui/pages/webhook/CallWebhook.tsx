import { pathTo } from "../../../api/Pages.ts"
import { triggerUrl } from "../../../api/run/TriggerUrl.ts"
import { isListening } from "../../../domain/webhook/Listening.ts"
import { useServer, useWebhook } from "../../api/Queries.ts"
import type { Server, Webhook } from "../../api/Types.ts"
import { LinkButton } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { CopyButton } from "../../components/CopyButton.tsx"
import { Loaded, loadLater } from "../../components/Loaded.tsx"
import { Notice } from "../../components/Notice.tsx"
import { Page } from "../../components/Page.tsx"
import { SnippetTabs } from "../../components/Snippets.tsx"
import { UserText } from "../../components/UserText.tsx"
import { useNavigationGuard } from "../../frame/NavigationGuard.ts"
import { callSnippets } from "./CallSnippets.ts"
import { LocalAddress } from "./LocalAddress.tsx"
import { clearNewToken, type NewToken, useNewSecret, useNewToken } from "./NewToken.ts"

const SetupAtService = loadLater(() => import("./SetupAtService.tsx"))
const Listening = loadLater(() => import("./Listening.tsx"))

/** Examples of calls, with a new token or with a placeholder. */
const CallWebhook = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  const server = useServer()
  const newToken = useNewToken(id)
  const newSecret = useNewSecret(id)
  const isNew = newToken !== undefined || newSecret !== undefined
  const leaving = useNavigationGuard(isNew)
  const name = webhook.data?.name ?? newToken?.webhook.name
  return (
    <Page
      title={newToken ? "Save your token" : newSecret ? "Save your secret" : "How to call it"}
      back={{ to: pathTo("webhook", { id }), text: name ?? "Webhook" }}
      actions={
        isNew && (
          <LinkButton
            to={pathTo("webhook", { id })}
            {...(!(webhook.data && isListening(webhook.data)) && { variant: "primary" })}
          >
            Done
          </LinkButton>
        )
      }
    >
      <Loaded query={server}>
        {(serverData) => (
          <Loaded query={webhook}>{(data) => <Calls webhook={data} server={serverData} newToken={newToken} />}</Loaded>
        )}
      </Loaded>
      {leaving && (
        <ConfirmDialog
          title={newToken ? "Have you saved the token?" : "Have you saved the secret?"}
          action="Yes, leave"
          cancel="Stay"
          harmless
          onClose={leaving.cancel}
          onConfirm={() => {
            clearNewToken()
            leaving.confirm()
          }}
        >
          <p>
            {newToken
              ? "It cannot be shown again, because only its hash is stored. If you lose it, you must regenerate it and give every caller the new one."
              : "It is stored encrypted and cannot be shown again."}
          </p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

const Calls = ({
  webhook,
  server,
  newToken
}: {
  readonly webhook: Webhook
  readonly server: Server
  readonly newToken: NewToken | undefined
}) => {
  const url = newToken?.trigger_url ?? triggerUrl(server.public_url, "YOUR_TOKEN")
  const secret = useNewSecret(webhook.id)
  const timeoutSeconds = webhook.timeout_seconds ?? server.webhook_timeout_seconds
  return (
    <>
      {newToken ? (
        <TokenDetails token={newToken} />
      ) : (
        <Notice>
          In the examples, replace <span className="mono">YOUR_TOKEN</span> with the token that ends in{" "}
          <span className="mono">{webhook.token_hint}</span>. Only its hash is stored, so it cannot be shown here. If
          you lost it, regenerate it on the webhook's page.
        </Notice>
      )}
      {(newToken || secret !== undefined) && webhook.verification && (
        <SetupAtService verification={webhook.verification} url={url} secret={secret} />
      )}
      {isListening(webhook) ? (
        <>
          <LocalAddress service="A service elsewhere" url={url} />
          <Listening webhook={webhook} />
        </>
      ) : (
        <section className="card stack" aria-label="Examples">
          <h2>Examples</h2>
          <SnippetTabs snippets={callSnippets(url, webhook, timeoutSeconds)} label="Ways to call" />
        </section>
      )}
    </>
  )
}

const TokenDetails = ({ token: { token, trigger_url, webhook } }: { readonly token: NewToken }) => (
  <>
    <Notice tone="warning">
      <strong>Copy it now.</strong> Anyone who has this URL can trigger <UserText>{webhook.name}</UserText>. It is shown
      only once; the server stores only its hash.
    </Notice>
    <section className="card stack tight" aria-label="Trigger URL">
      <div className="row between">
        <h2>Trigger URL</h2>
        <CopyButton text={trigger_url} what="the trigger URL" compact={false} />
      </div>
      <code className="secret">{trigger_url}</code>
      <div className="row between">
        <span className="muted small">Token only</span>
        <CopyButton text={token} what="the token" />
      </div>
      <code className="secret">{token}</code>
    </section>
  </>
)

export default CallWebhook
