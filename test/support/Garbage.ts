import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Removes all that nothing refers to, as V8 does from time to time. */
export const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc") as () => void
  gc()
}
