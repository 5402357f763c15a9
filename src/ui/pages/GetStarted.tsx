import type { ReactNode } from "react"
import { Link } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import { Allowed } from "../api/Access.ts"
import { useServer } from "../api/Queries.ts"
import type { Server, Team, Webhook } from "../api/Types.ts"
import { Icon } from "../components/Icon.tsx"
import type { Snippet } from "../components/Snippet.ts"
import { SnippetTabs } from "../components/Snippets.tsx"
import { localLeaderSnippets } from "./team/LeaderSnippets.ts"

/** The team that answers each prompt with the prompt itself. */
const demo = "demo"

/** Whether no team but the demo has had any work yet. */
export const isNew = (teams: ReadonlyArray<Team>, webhooks: ReadonlyArray<Webhook>): boolean =>
  !teams.some(({ running, team }) => team !== demo && running) &&
  !webhooks.some(({ last_triggered_at, team }) => team !== demo && last_triggered_at !== undefined)

/** The way to the first answer, and to an agent that does the work. */
export const GetStarted = ({ webhooks }: { readonly webhooks: ReadonlyArray<Webhook> }) => {
  const server = useServer()
  const ofDemo = webhooks.find(({ team }) => team === demo)
  return (
    <section className="card stack" aria-label="Get started">
      <h2>Get started</h2>
      <ol className="get-started">
        {ofDemo && (
          <Step title="Get a first answer" done={ofDemo.last_triggered_at !== undefined}>
            <p>
              The demo team answers each prompt with the prompt itself.{" "}
              <Link to={`${pathTo("webhook", ofDemo)}?tab=test`}>Send it a test</Link>
            </p>
          </Step>
        )}
        <Step title="Put an agent to work" done={false}>
          <p>
            Start the server again with one of these options. It creates the team <code>review</code>, and leads it.
          </p>
          {server.data && (
            <>
              <Found server={server.data} />
              <SnippetTabs snippets={waysToLead(server.data)} label="Ways to lead a team" />
            </>
          )}
        </Step>
        <Step title="Create a webhook for it" done={webhooks.some(({ team }) => team !== demo)}>
          <p>
            Its template says what the agent does with the values of a request.{" "}
            <Allowed needs="webhooks.create">
              <Link to={pathTo("newWebhook")}>Create a webhook</Link>
            </Allowed>
          </p>
        </Step>
      </ol>
    </section>
  )
}

/** The agents that are installed where the server runs; nothing for those who may not know. */
const Found = ({ server: { agents } }: { readonly server: Server }) =>
  agents === undefined ? null : agents.length === 0 ? (
    <p className="muted">
      None of <code>claude</code>, <code>codex</code>, <code>gemini</code> and <code>opencode</code> was found in the
      server's <code>PATH</code>.
    </p>
  ) : (
    <p>
      Installed on this machine: <strong>{agents.map(({ title }) => title).join(", ")}</strong>
    </p>
  )

/** Installed agents come first. */
const waysToLead = ({ agents = [], command }: Server): ReadonlyArray<Snippet> => {
  const others = localLeaderSnippets("review", command)
  return [
    ...agents.map(({ example, title }) => ({
      id: title,
      title,
      hint: "Start the server again with this option. The options of the agent say what it may do.",
      text: `${command} serve --agent 'review=${example}'`
    })),
    ...others.filter(({ title }) => !agents.some((agent) => agent.title === title))
  ]
}

const Step = ({
  title,
  done,
  children
}: {
  readonly title: string
  readonly done: boolean
  readonly children: ReactNode
}) => (
  <li>
    <div className="stack tight">
      <h3 className="row">
        {title}
        {done && (
          <span className="badge success">
            <Icon name="check" />
            Done
          </span>
        )}
      </h3>
      {children}
    </div>
  </li>
)
