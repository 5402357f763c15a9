/** Verified deliveries on a real PostgreSQL, over several servers. */
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as PostgresClient from "../../src/repo/sql/PostgresClient.ts"
import * as RepoSql from "../../src/repo/sql/RepoSql.ts"
import { freshDatabase } from "../support/fresh.ts"
import { postgresBin } from "../support/Postgres.ts"
import { exec } from "../support/Process.ts"
import { command } from "../support/System.ts"
import { hello, start } from "./Server.ts"

const secret = "It's a Secret to Everybody"

it.scopedLive(
  "a delivery is one run over two servers and after a restart, and no dump of the database shows the secret",
  () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repo = Layer.orDie(Layer.provide(RepoSql.layer, PostgresClient.layer({ url: Redacted.make(url) })))
      const server = yield* start({ repo })
      const replica = yield* start({ repo: Layer.fresh(repo) })
      const idle = yield* server.team("idle", "no leader")
      const hook = yield* server.webhook(idle, "{{text}}", {
        ...{ verification: { preset: "github" }, secret, when_team_stopped: "queue", keep_bodies: "refused" }
      })
      const deliver = (to: typeof server, key = secret) => {
        const raw = JSON.stringify(hello)
        const signature = `sha256=${createHmac("sha256", key).update(raw).digest("hex")}`
        const id = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
        const headers = {
          "content-type": "application/json",
          "x-hub-signature-256": signature,
          "x-github-delivery": id
        }
        return to.http("POST", hook.path, { raw, headers })
      }
      expect((yield* deliver(server, "a secret of somebody else")).status).toBe(401)
      const ten = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? server : replica)),
        (to) => deliver(to),
        { concurrency: "unbounded" }
      )
      expect(ten.map(({ status }) => status)).toStrictEqual(ten.map(() => 202))
      const restarted = yield* start({ repo: Layer.fresh(repo) })
      const ids = [...ten, yield* deliver(restarted)].map(({ json }) => json.run_id)
      expect(new Set(ids).size).toBe(1)
      expect(yield* server.history(hook.id)).toHaveLength(1)
      yield* server.admin("GET", `/api/webhooks/${hook.id}/requests`)

      const program = command(join(postgresBin()!, "pg_dump"), ["--dbname", url, "--inserts"])
      const { stdout: dump } = yield* Effect.promise(() => exec(program.program, [...program.args]))
      expect(dump).toContain(hook.id)
      for (const text of [secret, Buffer.from(secret).toString("base64"), Buffer.from(secret).toString("hex")]) {
        // In SQL a quote stands twice.
        expect(dump.replaceAll("''", "'")).not.toContain(text.replace(/=+$/, ""))
      }
    }),
  60_000
)
