/**
 * The built server as a process that a test holds by the hand: it tells its parent when it reaches an armed race point
 * and waits there, or kills itself there. Needs `npm run build`.
 */
import { Effect } from "effect"
import { onRacePoint } from "../../../dist/engine/RacePoint.js"

/** What to do at which point, and at the how-manieth time. */
const armed = new Map()
const holding = []

process.on("message", ({ arm, release }) => {
  if (arm) armed.set(arm.point, { ...arm })
  if (release) {
    armed.delete(release)
    for (const waiting of holding.splice(0)) waiting.point === release ? waiting.go() : holding.push(waiting)
  }
  process.send({ done: arm?.point ?? release })
})
// A server whose test is gone has nothing left to do; one whose test is there must not be kept alive by this line.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"))
process.channel.unref()

for (const arm of JSON.parse(process.env.RACE_POINTS ?? "[]")) armed.set(arm.point, arm)

onRacePoint((point) =>
  Effect.async((resume) => {
    const arm = armed.get(point)
    if (arm === undefined || --arm.times > 0) return resume(Effect.void)
    if (arm.action === "kill") {
      process.kill(process.pid, "SIGKILL")
      return
    }
    holding.push({ point, go: () => resume(Effect.void) })
    process.send({ reached: point })
  })
)

process.argv.splice(2, process.argv.length, "serve")
await import("../../../dist/main.js")
