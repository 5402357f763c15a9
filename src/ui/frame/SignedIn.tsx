import { Link, Redirect, useSearch } from "wouter"
import { Page } from "../components/Page.tsx"
import { pageToOpen, SignInProblemNotice } from "./SignInProblem.tsx"

/** The sign-in page for those who are signed in: why signing in again failed, or the page to return to. */
export const SignedIn = () => {
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
