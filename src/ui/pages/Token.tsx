import { useState } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"
import { useServer, useWebhook } from "../api/Queries.ts"
import type { FreshToken, Server, Webhook } from "../api/Types.ts"
import { LinkButton } from "../components/Button.tsx"
import { Confirm } from "../components/Confirm.tsx"
import { Code, Copy } from "../components/Copy.tsx"
import { Note } from "../components/Note.tsx"
import { Loaded, Page } from "../components/Page.tsx"
import { Named, plain } from "../components/Text.tsx"
import { useLeaving } from "../frame/Leaving.ts"
import { forgetToken, useFreshToken } from "./FreshToken.ts"
import { snippets } from "./Snippets.ts"

/** How to call a webhook: with its token in the one moment it is known, with a placeholder ever after. */
const TokenPage = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  const server = useServer()
  const fresh = useFreshToken(id)
  const leaving = useLeaving(fresh !== undefined)
  const name = webhook.data?.name ?? fresh?.webhook.name
  return (
    <Page
      title={fresh ? "The token, this once" : "How to call it"}
      back={{ to: `/webhooks/${id}`, text: name ? plain(name) : "Webhook" }}
      actions={
        fresh && (
          <LinkButton to={`/webhooks/${id}`} look="primary">
            I have kept it
          </LinkButton>
        )
      }
    >
      <Loaded from={server}>
        {(settings) => (
          <Loaded from={webhook}>{(data) => <Calls webhook={data} server={settings} fresh={fresh} />}</Loaded>
        )}
      </Loaded>
      {leaving && (
        <Confirm
          title="Have you kept the token?"
          action="Yes, leave"
          harmless
          back="Stay here"
          onClose={leaving.stay}
          onConfirm={() => {
            forgetToken()
            leaving.confirm()
          }}
        >
          <p>
            It cannot be shown again: only its hash is stored. If it is lost, a new one must be made, and every caller
            be given the new one.
          </p>
        </Confirm>
      )}
    </Page>
  )
}

const Calls = ({
  webhook,
  server,
  fresh
}: {
  readonly webhook: Webhook
  readonly server: Server
  readonly fresh: FreshToken | undefined
}) => {
  const [open, setOpen] = useState("curl")
  const url = fresh?.trigger_url ?? `${server.public_url}/webhook/trigger/YOUR_TOKEN`
  const all = snippets(url, webhook.variables, webhook.timeout_seconds ?? server.webhook_timeout_seconds)
  return (
    <>
      {fresh ? (
        <>
          <Note kind="warn">
            <strong>Copy it now.</strong> Whoever has this address can trigger <Named>{webhook.name}</Named>. It is
            shown this once; the service keeps only its hash.
          </Note>
          <section className="card stack tight" aria-label="Trigger URL">
            <div className="row between">
              <h2>Trigger URL</h2>
              <Copy text={fresh.trigger_url} what="the trigger URL" compact={false} />
            </div>
            <code className="secret">{fresh.trigger_url}</code>
            <div className="row between">
              <span className="muted small">The token alone</span>
              <Copy text={fresh.token} what="the token" />
            </div>
            <code className="secret">{fresh.token}</code>
          </section>
        </>
      ) : (
        <Note>
          The token itself, which ends in <span className="mono">{webhook.token_hint}</span>, is known to its callers
          only; put it where <span className="mono">YOUR_TOKEN</span> stands. If it is lost, regenerate it on the
          webhook's page.
        </Note>
      )}
      <section className="card stack" aria-label="Ready-made calls">
        <h2>Ready-made calls</h2>
        <Tabs selectedKey={open} onSelectionChange={(key) => setOpen(String(key))} className="tabs">
          <TabList aria-label="Ways to call" className="tab-list">
            {all.map(({ id, title }) => (
              <Tab key={id} id={id} className="tab">
                {title}
              </Tab>
            ))}
          </TabList>
          {all.map(({ id, title, hint, text }) => (
            <TabPanel key={id} id={id} className="stack tight">
              {hint && <p className="muted small">{hint}</p>}
              <Code text={text} title={title} />
            </TabPanel>
          ))}
        </Tabs>
      </section>
    </>
  )
}

export default TokenPage
