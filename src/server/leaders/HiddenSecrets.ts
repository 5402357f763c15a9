import { Effect } from "effect"
import { constVoid } from "effect/Function"
import * as ProcessSecrets from "../ProcessSecrets.ts"

/**
 * A program of this process's own user could read secrets from it, unless they are removed there. Node would start its
 * debugger, which reads everything, for any process of the user that sends SIGUSR1. A warning names the processes that still
 * show a secret.
 *
 * @param what the secrets in words, for the warning
 * @param variables the environment variables that hold them
 * @param values the secrets themselves
 */
export const hideFromPrograms = (what: string, variables: ReadonlyArray<string>, values: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    process.on("SIGUSR1", constVoid)
    const isRemoved = ProcessSecrets.remove(variables, values)
    const places = [...(isRemoved ? [] : ["this process"]), ...ProcessSecrets.ancestorsThatShow(values)]
    for (const place of places) {
      yield* Effect.logWarning(`The program can read ${what} from ${place}; docs/use/leaders.md says what helps`)
    }
  })
