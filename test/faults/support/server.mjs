/**
 * The server as a child process that a test controls: at the engine's checkpoints it does what the test has
 * instructed by message, stays there until it is released or kills itself. `bundle.mjs` bundles it, `load.cjs` runs the bundle.
 */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit, Layer, Option, Runtime } from "effect"
import { Checkpoints } from "../../../src/engine/Checkpoints.ts"
import { serve } from "../../../src/server/Serve.ts"

/** What to do at which checkpoint, and the how many more times it is to be reached before. */
const instructions = new Map()
const held = []

process.on("message", ({ at, release }) => {
  // `load.cjs` has messages of its own.
  if (!at && !release) return
  if (at) instructions.set(at.point, { ...at })
  if (release) {
    instructions.delete(release)
    for (const waiting of held.splice(0)) waiting.point === release ? waiting.resume() : held.push(waiting)
  }
  process.send({ done: at?.point ?? release })
})
// Without its test the server ends; but these messages alone do not keep it running.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"))
process.channel.unref()

const atCheckpoint = (point) =>
  Effect.callback((resume) => {
    const instruction = instructions.get(point)
    if (instruction === undefined || --instruction.times > 0) return resume(Effect.void)
    if (instruction.action === "kill") return process.kill(process.pid, "SIGKILL")
    held.push({ point, resume: () => resume(Effect.void) })
    process.send({ reached: point })
  })

/** A start that failed says by its exit code why, as the program does. */
const teardown = (exit, end) => {
  const failure = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none()
  return Option.isSome(failure) ? end(failure.value.exit) : Runtime.defaultTeardown(exit, end)
}

serve(new Map(), "test").pipe(Effect.provide(Layer.succeed(Checkpoints, atCheckpoint)), runMain({ teardown }))
