/** Accepts runs in the data folder named as its argument, and prints each one's id once it is accepted. */
import { Effect, Layer } from "effect"
import * as PgliteClient from "../../../src/repo/database/PgliteClient.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import { createWebhook, queueRun } from "../contract/fixtures.ts"

const program = Effect.gen(function* () {
  const webhook = yield* createWebhook()
  yield* Effect.forever(Effect.map(queueRun(webhook), (id) => process.stdout.write(`${id}\n`)))
})

const folder = process.argv.at(-1)!
Effect.runFork(Effect.provide(program, RepoSql.layer.pipe(Layer.provide(PgliteClient.layer({ folder })))))
