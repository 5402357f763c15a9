import { useQuery } from "@tanstack/react-query"
import { type FormEvent, useEffect, useState } from "react"
import { navigate } from "wouter/use-browser-location"
import { signInPath } from "../../api/access/SignIn.ts"
import { pathTo } from "../../api/Pages.ts"
import type { SignInProblem } from "../../domain/access/SignInProblem.ts"
import { api } from "../api/Client.ts"
import { ApiError, explain } from "../api/Errors.ts"
import { answerFreshSignIn } from "../api/FreshSignIn.ts"
import { queries, sessionQuery } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { Dialog } from "../components/Dialog.tsx"
import { TextField } from "../components/form/TextField.tsx"
import { Notice } from "../components/Notice.tsx"
import { currentPage, uiPath } from "./UiPath.ts"

/** The provider's name, if people can sign in there. */
const useProvider = () => useQuery(sessionQuery).data?.provider

/** The key of a link that signs in once, in the address's fragment. It does not stay in the browser's history. */
const keyOfLink = (): string => {
  const key = isSignInPage() ? location.hash.slice(1) : ""
  if (key !== "") history.replaceState(history.state, "", location.pathname + location.search)
  return key
}

const isSignInPage = () => location.pathname === uiPath + pathTo("signIn")
const query = () => new URLSearchParams(location.search)

const KeyForm = ({
  autoFocus,
  variant,
  action = "Sign in"
}: {
  readonly autoFocus: boolean
  readonly variant?: "primary"
  readonly action?: string
}) => {
  const [key, setKey] = useState("")
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const signIn = async (key: string) => {
    if (key === "" || pending) return
    setPending(true)
    setError(undefined)
    try {
      const session = await api.session.signIn({ payload: { key } })
      if (isSignInPage()) navigate(uiPath + pageToOpen(query()), { replace: true })
      queries.setQueryData(["session"], session)
      await queries.invalidateQueries()
    } catch (cause) {
      setError(cause)
    } finally {
      setPending(false)
    }
  }
  // Only the first time finds a key.
  useEffect(() => void signIn(keyOfLink()))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void signIn(key.trim())
  }
  const wrongKey = error instanceof ApiError && error.status === 401
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="API key or admin key"
        type="password"
        value={key}
        onChange={setKey}
        autoFocus={autoFocus}
        autoComplete="current-password"
        fault={wrongKey ? error.message : undefined}
        help="Your API key, or the admin key: ADMIN_API_KEY or, if that is not set, the key shown at the server's first start."
      />
      {error !== undefined && !wrongKey && (
        <Notice tone="danger">
          {explain(error).title} {explain(error).advice}
        </Notice>
      )}
      <Button {...(variant && { variant })} type="submit" pending={pending}>
        {action}
      </Button>
    </form>
  )
}

export const SignIn = () => {
  const provider = useProvider()
  const to = isSignInPage() ? pageToOpen(query()) : currentPage()
  return (
    <main className="sign-in">
      <div className="card stack">
        <div className="brand">
          <img src={`${uiPath}/icon.svg`} alt="" />
          <h1>Webhook Trigger</h1>
        </div>
        {isSignInPage() && <SignInProblemNotice query={query()} />}
        {provider === undefined ? (
          <KeyForm autoFocus variant="primary" />
        ) : (
          <>
            <a className="button primary" href={`${uiPath}${signInPath}?${new URLSearchParams({ to })}`}>
              Sign in with {provider}
            </a>
            <p className="muted small">Or with a key:</p>
            <KeyForm autoFocus={false} />
          </>
        )}
      </div>
    </main>
  )
}

/** How often the dialog looks for a session that was begun in another tab, in milliseconds. */
const pollInterval = 2_000

/** Shown while a sensitive action waits for a fresh sign-in: of a person at the provider, else with the key. */
export const FreshSignIn = () => {
  const { data: session } = useQuery({ ...sessionQuery, refetchInterval: pollInterval })
  const [opened] = useState(Date.now)
  const { dataUpdatedAt } = useQuery(sessionQuery)
  const isDone = session?.recent === true && dataUpdatedAt > opened
  useEffect(() => {
    if (isDone) answerFreshSignIn(true)
  }, [isDone])
  const close = () => answerFreshSignIn(false)
  return (
    <Dialog title="Confirm access" onClose={close}>
      {session?.access?.person === undefined ? (
        <>
          <p className="muted">This action requires a sign-in within the last 10 minutes. Enter your key again.</p>
          <KeyForm autoFocus variant="primary" action="Confirm" />
        </>
      ) : (
        <div className="stack">
          <p className="muted">
            This action requires a sign-in within the last 10 minutes. Sign in again in a new tab, then return here.
            This page continues automatically.
          </p>
          <a className="button primary" href={`${uiPath}${signInPath}?fresh=true`} target="_blank" rel="noopener">
            Sign in with {session.provider} (new tab)
          </a>
        </div>
      )}
      <Button variant="quiet" onPress={close}>
        Cancel
      </Button>
    </Dialog>
  )
}

/** Shown if the session ends while the UI is open. Unsaved text remains behind the dialog. */
export const SignInAgain = () => {
  const provider = useProvider()
  useQuery({ ...sessionQuery, refetchInterval: provider === undefined ? false : pollInterval })
  return (
    <Dialog title="Your session has ended">
      <p className="muted">Sign in again to continue where you left off. Nothing on this page is lost.</p>
      {provider === undefined ? (
        <KeyForm autoFocus variant="primary" />
      ) : (
        <div className="stack">
          {/* In another tab: this page would lose what is not saved. */}
          <a className="button primary" href={uiPath + signInPath} target="_blank" rel="noopener">
            Sign in with {provider} (new tab)
          </a>
          <p className="muted small">Or with a key:</p>
          <KeyForm autoFocus={false} />
        </div>
      )}
    </Dialog>
  )
}

const texts: { readonly [problem in SignInProblem]: string } = {
  provider_unavailable:
    "The sign-in provider cannot be reached. Try again in a few minutes, or sign in with a key. The server's log has details.",
  denied: "The provider did not sign you in. Try again, or ask an administrator of the provider for access.",
  provider_error:
    "The provider answered with an error. Ask an administrator: the server's log has details. Signing in with a key still works.",
  expired: "This sign-in took too long, or was started in another tab or browser. Start again.",
  invalid: "The provider's response does not belong to this sign-in. Start again.",
  no_role:
    "You are signed in at the provider, but none of your groups has access to this server. Ask an administrator to add you to a group.",
  not_recent: "The provider did not confirm that you just signed in. Try again, or sign in with a key.",
  too_many: "Too many sign-ins from your address failed. Try again in a minute, or sign in with a key.",
  unavailable: "The server could not start your session. Try again in a moment."
}

/** Only texts of ours: anybody can write a link to this page. */
export const SignInProblemNotice = ({ query }: { readonly query: URLSearchParams }) => {
  const problem = query.get("problem") ?? ""
  if (!Object.hasOwn(texts, problem)) return null
  return <Notice tone="danger">{texts[problem as SignInProblem]}</Notice>
}

/** The page to return to: a path of this server. */
export const pageToOpen = (query: URLSearchParams): string => {
  const given = query.get("to") ?? ""
  if (!URL.canParse(given, location.origin)) return pathTo("home")
  const { origin, pathname, search } = new URL(given, location.origin)
  // A path like `//example.com` would be another host's address.
  const isPage = origin === location.origin && pathname !== pathTo("signIn") && !pathname.startsWith("//")
  return isPage ? pathname + search : pathTo("home")
}
