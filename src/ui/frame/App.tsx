import { useQuery } from "@tanstack/react-query"
import { useEffect, useRef } from "react"
import { I18nProvider } from "react-aria-components"
import { Router } from "wouter"
import { api } from "../api/Client.ts"
import { listen } from "../api/Live.ts"
import { queries, runAction, sessionQuery } from "../api/Queries.ts"
import { Loading } from "../components/Loaded.tsx"
import { ErrorNotice } from "../components/Notice.tsx"
import { Toasts } from "../components/Toasts.tsx"
import { locale } from "../format/Locale.ts"
import { Layout } from "./Layout.tsx"
import { guardNavigation } from "./NavigationGuard.ts"
import { SignIn, SignInAgain } from "./SignIn.tsx"

export const App = () => {
  const session = useQuery(sessionQuery)
  const hasSignedIn = useRef(false)
  const signedIn = session.data?.signed_in === true
  useEffect(() => (signedIn ? listen(queries) : undefined), [signedIn])
  if (signedIn) hasSignedIn.current = true
  if (session.data === undefined) {
    return (
      <main className="main">
        {session.error ? <ErrorNotice error={session.error} onRetry={() => void session.refetch()} /> : <Loading />}
      </main>
    )
  }
  if (!hasSignedIn.current) return <SignIn />
  const signOut = async () => {
    await runAction(() => api.session.signOut({})).catch(() => undefined)
    // Clears the session's data from memory and from the screen.
    location.assign("/")
  }
  return (
    <I18nProvider locale={locale}>
      <Router aroundNav={(navigate, to, options) => guardNavigation(() => navigate(to, options))}>
        <Layout onSignOut={() => guardNavigation(() => void signOut())} />
      </Router>
      {!signedIn && <SignInAgain />}
      <Toasts />
    </I18nProvider>
  )
}
