import { useQuery } from "@tanstack/react-query"
import { useEffect, useRef } from "react"
import { I18nProvider } from "react-aria-components"
import { Router } from "wouter"
import { AccessContext } from "../api/Access.ts"
import { api } from "../api/Client.ts"
import { useFreshSignInAsked } from "../api/FreshSignIn.ts"
import { listen } from "../api/Live.ts"
import { queries, runAction, sessionQuery } from "../api/Queries.ts"
import type { Access } from "../api/Types.ts"
import { Loading } from "../components/Loaded.tsx"
import { ErrorNotice } from "../components/Notice.tsx"
import { Toasts } from "../components/Toasts.tsx"
import { locale } from "../format/Format.ts"
import { Layout } from "./Layout.tsx"
import { guardNavigation } from "./NavigationGuard.ts"
import { FreshSignIn, SignIn, SignInAgain } from "./SignIn.tsx"
import { uiPath } from "./UiPath.ts"

export const App = () => {
  const session = useQuery(sessionQuery)
  const hasSignedIn = useRef(false)
  const isFreshSignInAsked = useFreshSignInAsked()
  const signedIn = session.data?.signed_in === true
  useEffect(() => (signedIn ? listen(queries) : undefined), [signedIn])
  if (signedIn) hasSignedIn.current = true
  // The page stays as it is while the user signs in again.
  const access = useRef<Pick<Access, "role" | "teams">>({ role: "viewer" })
  if (session.data?.access !== undefined) access.current = session.data.access
  if (session.data === undefined) {
    return (
      <main className="main">
        {session.error ? <ErrorNotice error={session.error} onRetry={() => void session.refetch()} /> : <Loading />}
      </main>
    )
  }
  if (!hasSignedIn.current) return <SignIn />
  const signOut = async () => {
    const signedOut = await runAction(() => api.session.signOut({})).catch(() => undefined)
    // Clears the session's data from memory and from the screen. At the provider, the person is then signed out, too.
    location.assign(signedOut?.provider_url ?? `${uiPath}/`)
  }
  return (
    <I18nProvider locale={locale}>
      <AccessContext value={access.current}>
        <Router base={uiPath} aroundNav={(navigate, to, options) => guardNavigation(() => navigate(to, options))}>
          <Layout onSignOut={() => guardNavigation(() => void signOut())} />
        </Router>
      </AccessContext>
      {!signedIn ? <SignInAgain /> : isFreshSignInAsked && <FreshSignIn />}
      <Toasts />
    </I18nProvider>
  )
}
