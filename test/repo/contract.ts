/** What every `Repo` must do, whatever it keeps its rows in. */
import type { Effect, Scope } from "effect"
import type { Repo } from "../../src/repo/Repo.ts"
import { acceptance } from "./acceptance.ts"
import { definitions } from "./definitions.ts"
import { dispatch } from "./dispatch.ts"
import { endings } from "./endings.ts"
import { expiry } from "./expiry.ts"
import { history } from "./history.ts"
import { lease } from "./lease.ts"
import { statistics } from "./statistics.ts"

/** Gives a test an empty `Repo`. */
export type WithRepo = <A, E>(test: Effect.Effect<A, E, Repo | Scope.Scope>) => Effect.Effect<A, E>

export const contract = (withRepo: WithRepo): void => {
  definitions(withRepo)
  acceptance(withRepo)
  dispatch(withRepo)
  endings(withRepo)
  expiry(withRepo)
  history(withRepo)
  lease(withRepo)
  statistics(withRepo)
}
