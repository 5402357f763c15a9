import { Effect } from "effect"
import * as ProcessGroup from "../../src/leader/ProcessGroup.ts"
import { runProgram, wholeText } from "../../src/leader/Program.ts"
import { expect, it } from "../support/It.ts"
import { isRunning } from "./agents/Leading.ts"

/**
 * Ends, and leaves a process in its group that has ended, too, but that nobody waits for, as in a container without an init
 * process. It prints the number of the one that would have to.
 */
const program = `
import os, time
group, parent = os.getpgid(0), os.fork()
if parent == 0:
    os.setpgid(0, 0)
    os.closerange(0, 3)
    child = os.fork()
    if child == 0:
        os.setpgid(0, group)
        os._exit(0)
    time.sleep(600)
while True:
    children = open(f"/proc/{parent}/task/{parent}/children").read().split()
    if children and ") Z" in open(f"/proc/{children[0]}/stat").read():
        break
print(parent)
`

// The clock stands still: whoever waits for the group waits for ever.
it.effect("a process that has ended, but that nobody waits for, does not delay the end of its group", function* () {
  const running = yield* ProcessGroup.start({ command: "python3", args: ["-c", program], env: process.env })
  let printed = ""
  running.child.stdout.on("data", (chunk) => (printed += chunk))
  expect(yield* running.ended).toBe("exit code 0")
  yield* running.drained
  yield* Effect.addFinalizer(() => Effect.sync(() => process.kill(Number(printed), "SIGKILL")))
  expect(ProcessGroup.signal(running, "SIGTERM")).toBe(true)
  yield* ProcessGroup.end(running, { signal: "SIGTERM", grace: "5 seconds" })
  expect(isRunning(Number(printed))).toBe(true)
})

it.live(
  "a program that a finalizer runs ends, although nothing is interrupted there",
  () =>
    Effect.gen(function* () {
      const printed: Array<string> = []
      const args = ["-c", "sleep 600 & echo cleaned"]
      const program = runProgram({ command: "sh", args, env: process.env, input: "" }, wholeText())
      yield* Effect.ensuring(Effect.void, Effect.ignore(Effect.map(program, (text) => printed.push(text))))
      expect(printed).toEqual(["cleaned"])
    }),
  60_000
)
