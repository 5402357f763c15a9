import type { ReactNode } from "react"
import { Link, Redirect, Route, Switch, useSearch } from "wouter"
import { type PageName, type PageParameters, pages, pathTo } from "../../api/Pages.ts"
import { type Needs, useMay } from "../api/Access.ts"
import { loadLater } from "../components/Loaded.tsx"
import { Page } from "../components/Page.tsx"
import { Webhooks } from "../pages/webhook/Webhooks.tsx"
import { pageToOpen, SignInProblemNotice } from "./SignIn.tsx"

const Overview = loadLater(() => import("../pages/Overview.tsx"))
const EditWebhook = loadLater(() => import("../pages/webhook-form/EditWebhook.tsx"))
const WebhookPage = loadLater(() => import("../pages/webhook/Webhook.tsx"))
const Templates = loadLater(() => import("../pages/webhook/Templates.tsx"))
const CallWebhook = loadLater(() => import("../pages/webhook/CallWebhook.tsx"))
const Runs = loadLater(() => import("../pages/run/Runs.tsx"))
const RunPage = loadLater(() => import("../pages/run/Run.tsx"))
const Alerts = loadLater(() => import("../pages/alert/Alerts.tsx"))
const Teams = loadLater(() => import("../pages/team/Teams.tsx"))
const Audit = loadLater(() => import("../pages/Audit.tsx"))
const Server = loadLater(() => import("../pages/Server.tsx"))
const Sessions = loadLater(() => import("../pages/Sessions.tsx"))
const ApiKeys = loadLater(() => import("../pages/ApiKeys.tsx"))
const TeamPage = loadLater(() => import("../pages/team/Team.tsx"))
const Threads = loadLater(() => import("../pages/thread/Threads.tsx"))
const ThreadPage = loadLater(() => import("../pages/thread/Thread.tsx"))

type Views = { readonly [Name in PageName]: (parameters: PageParameters<Name>) => ReactNode }

/** One view per page. The keys reset the page's state for another id. */
const views: Views = {
  home: () => <Overview />,
  signIn: () => <SignedIn />,
  webhooks: () => <Webhooks />,
  newWebhook: () => <EditWebhook />,
  webhook: ({ id }) => <WebhookPage key={id} id={id} />,
  editWebhook: ({ id }) => <EditWebhook key={id} id={id} />,
  callWebhook: ({ id }) => <CallWebhook key={id} id={id} />,
  templates: ({ id }) => <Templates key={id} id={id} />,
  runs: () => <Runs />,
  run: ({ run_id }) => <RunPage key={run_id} run_id={run_id} />,
  alerts: () => <Alerts />,
  teams: () => <Teams />,
  team: ({ team }) => <TeamPage key={team} team={team} />,
  threads: ({ team }) => <Threads key={team} team={team} />,
  thread: ({ thread_id }) => <ThreadPage key={thread_id} thread_id={thread_id} />,
  server: () => <Server />,
  audit: () => <Audit />,
  sessions: () => <Sessions />,
  apiKeys: () => <ApiKeys />
}

/** The permission that a page needs. All others only read. */
const needs: { readonly [Name in PageName]?: Needs } = {
  newWebhook: "webhooks.create",
  editWebhook: "webhooks.edit",
  audit: "audit.list",
  sessions: "sessions.list",
  apiKeys: "apiKeys.list"
}

const names = Object.keys(pages) as ReadonlyArray<PageName>

/** Shows the page that the address names. */
export const PageRouter = () => {
  const may = useMay()
  return (
    <Switch>
      {names.map((name) => (
        <Route key={name} path={pages[name]}>
          {/* The types of a list cannot express that the parameters belong to the page. */}
          {(parameters) =>
            needs[name] === undefined || may(needs[name]) ? views[name](parameters as never) : <NotAllowed />
          }
        </Route>
      ))}
      <Route>
        <Page title="Page not found">
          <p>There is no page at this address.</p>
          <p>
            <Link to={pathTo("webhooks")}>Go to the webhooks</Link>
          </p>
        </Page>
      </Route>
    </Switch>
  )
}

const NotAllowed = () => (
  <Page title="Not allowed">
    <p>Your key or your group does not allow this. Ask an administrator.</p>
    <p>
      <Link to={pathTo("home")}>Go to the overview</Link>
    </p>
  </Page>
)

/** The sign-in page for those who are signed in: why signing in again failed, or the page to return to. */
const SignedIn = () => {
  const query = new URLSearchParams(useSearch())
  const to = pageToOpen(query)
  if (!query.has("problem")) return <Redirect to={to} replace />
  return (
    <Page title="Sign in">
      <SignInProblemNotice query={query} />
      <p>
        <Link to={to}>Continue with your current session</Link>
      </p>
    </Page>
  )
}
