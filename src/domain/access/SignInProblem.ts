/** Why signing in at the OpenID provider failed: in the address of the sign-in page, which explains it. Plain data. */
const signInProblems = [
  /** The provider cannot be reached, or its answer is unusable. */
  "provider_unavailable",
  /** The person or the provider refused. */
  "denied",
  /** The provider answered with any other error. */
  "provider_error",
  /** It took too long, or was begun in another browser or tab. */
  "expired",
  /** The provider's response is not the one for this sign-in. */
  "invalid",
  /** None of the person's groups has a role. */
  "no_role",
  /** The provider does not confirm that the person has just signed in. */
  "not_recent",
  /** Too many sign-ins from this address failed. */
  "too_many",
  /** The server cannot begin a session at the moment, or has too many sign-ins to check. */
  "unavailable"
] as const
export type SignInProblem = (typeof signInProblems)[number]
