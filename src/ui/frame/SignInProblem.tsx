import { pathTo } from "../../api/Pages.ts"
import type { SignInProblem } from "../../domain/access/SignInProblem.ts"
import { Notice } from "../components/Notice.tsx"

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
