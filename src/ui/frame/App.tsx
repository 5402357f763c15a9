import { useQuery } from "@tanstack/react-query"
import { lazy, Suspense, useEffect, useRef } from "react"
import { I18nProvider } from "react-aria-components"
import { Link, Redirect, Route, Router, Switch, useLocation } from "wouter"
import { api } from "../api/Client.ts"
import { listen, useLiveStatus } from "../api/Live.ts"
import { act, queries, sessionQuery } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { Failure, Note } from "../components/Note.tsx"
import { Loading, Page } from "../components/Page.tsx"
import { Toasts } from "../components/Toasts.tsx"
import { Webhooks } from "../pages/Webhooks.tsx"
import { leave } from "./Leaving.ts"
import { Mishap } from "./Mishap.tsx"
import { SignIn, SignInAgain } from "./SignIn.tsx"
import { ThemeButton } from "./Theme.tsx"

const Editor = lazy(() => import("../pages/Editor.tsx"))
const WebhookPage = lazy(() => import("../pages/Webhook.tsx"))
const TokenPage = lazy(() => import("../pages/Token.tsx"))
const RunPage = lazy(() => import("../pages/Run.tsx"))
const Teams = lazy(() => import("../pages/Teams.tsx"))
const TeamPage = lazy(() => import("../pages/Team.tsx"))

export const App = () => {
  const session = useQuery(sessionQuery)
  const entered = useRef(false)
  const signedIn = session.data?.signed_in === true
  useEffect(() => (signedIn ? listen(queries) : undefined), [signedIn])
  if (signedIn) entered.current = true
  if (session.data === undefined) {
    return (
      <main className="main">
        {session.error ? <Failure error={session.error} onRetry={() => void session.refetch()} /> : <Loading />}
      </main>
    )
  }
  if (!entered.current) return <SignIn />
  const signOut = async () => {
    await act(api.session.signOut({})).catch(() => undefined)
    // Leaves nothing of the session behind, in memory or on screen.
    location.assign("/")
  }
  return (
    <I18nProvider locale="en-GB">
      <Router aroundNav={(navigate, to, options) => leave(() => navigate(to, options))}>
        <Frame onSignOut={() => leave(() => void signOut())} />
      </Router>
      {!signedIn && <SignInAgain />}
      <Toasts />
    </I18nProvider>
  )
}

const Frame = ({ onSignOut }: { readonly onSignOut: () => void }) => {
  const [path] = useLocation()
  const live = useLiveStatus()
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page begins at its top.
  useEffect(() => {
    window.scrollTo(0, 0)
  }, [path])
  const current = (section: string) => (path.startsWith(section) ? { "aria-current": "page" as const } : {})
  return (
    <div className="frame">
      <a className="button skip" href="#content">
        Skip to the content
      </a>
      <header className="top">
        <div className="top-inner">
          <Link to="/webhooks" className="brand">
            <img src="/icon.svg" alt="" />
            <span>Webhook Trigger</span>
          </Link>
          <nav className="nav" aria-label="Sections">
            <Link to="/webhooks" {...current("/webhooks")}>
              Webhooks
            </Link>
            <Link to="/teams" {...current("/teams")}>
              Teams
            </Link>
          </nav>
          <div className={`live ${live}`} role="status">
            <span>{live === "live" ? "Live" : live === "polling" ? "Every few seconds" : "Offline"}</span>
          </div>
          <ThemeButton />
          <Button look="quiet" icon="exit" label="Sign out" onPress={onSignOut} />
        </div>
      </header>
      <main className="main" id="content">
        {live === "offline" && (
          <div className="offline">
            <Note kind="warn">
              The server cannot be reached. What you see may be out of date; this page tries again by itself.
            </Note>
          </div>
        )}
        <Mishap key={path}>
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/webhooks">
                <Webhooks />
              </Route>
              <Route path="/webhooks/new">
                <Editor />
              </Route>
              <Route path="/webhooks/:id">{({ id }) => <WebhookPage key={id} id={id} />}</Route>
              <Route path="/webhooks/:id/edit">{({ id }) => <Editor key={id} id={id} />}</Route>
              <Route path="/webhooks/:id/call">{({ id }) => <TokenPage key={id} id={id} />}</Route>
              <Route path="/runs/:run_id">{({ run_id }) => <RunPage key={run_id} run_id={run_id} />}</Route>
              <Route path="/teams">
                <Teams />
              </Route>
              <Route path="/teams/:team">{({ team }) => <TeamPage key={team} team={team} />}</Route>
              <Route path="/">
                <Redirect to="/webhooks" replace />
              </Route>
              <Route>
                <Page title="No such page">
                  <p>There is nothing at this address.</p>
                  <p>
                    <Link to="/webhooks">To the webhooks</Link>
                  </p>
                </Page>
              </Route>
            </Switch>
          </Suspense>
        </Mishap>
      </main>
    </div>
  )
}
