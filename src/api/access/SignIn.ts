/** The addresses of signing in at the OpenID provider, which browsers open. Plain data: the web UI loads it, too. */

/** Redirects to the provider; `to`: the page to return to; `fresh=true`: the person must sign in again there. */
export const signInPath = "/sign-in/provider"
/** Where the provider redirects to, as it must be registered there. */
export const callbackPath = "/sign-in/callback"
