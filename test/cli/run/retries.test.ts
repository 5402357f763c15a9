/** Retries on the command line: what it shows of them, and what calls them off. */

import { Effect } from "effect"
import * as Server from "../../http/Server.ts"
import { expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { runWith } from "../CommandLine.ts"

it.live("a failed run says which attempt it is and when the next one comes, until that is called off", function* () {
  const { admin, http, origin, team, webhook } = yield* Server.start()
  yield* team("ops", Server.failing)
  const run = (...words: ReadonlyArray<string>) =>
    runWith({ ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: origin }, ...words)
  const hook = yield* webhook("ops", "{{text}}", { name: "review" })
  const set = (retries: string) => run("webhook", "edit", "review", "--retries", retries)
  expect((yield* set("3/3600")).code).toBe(0)
  const failed = Effect.gen(function* () {
    const { json } = yield* http("POST", hook.path, { body: Server.hello })
    const ended = yield* http("GET", `${hook.path}/runs/${json.run_id}?wait=true`)
    return ended.json as { readonly run_id: string; readonly retry_at: string }
  })
  const shown = (id: string) => Effect.map(run("run", "show", id), ({ stdout }) => stdout)

  const first = yield* failed
  const inSeconds = first.retry_at.slice(0, 19).replace("T", " ")
  expect(yield* shown(first.run_id)).toMatch(/\nattempt +1 of 4\n/)
  expect(yield* shown(first.run_id)).toMatch(new RegExp(`\\nnext attempt +${inSeconds}`))
  expect(yield* run("run", "cancel", first.run_id)).toEqual({
    code: 0,
    stdout: "Retry cancelled. The run stays failed.\n",
    stderr: ""
  })
  expect(yield* shown(first.run_id)).not.toContain("next attempt")
  const others = [yield* failed, yield* failed]
  const several = others.map(({ run_id }) => run_id)
  const cancelled = yield* run("run", "cancel", ...several, first.run_id)
  expect(cancelled).toEqual({ code: 0, stdout: "3 runs cancelled.\n", stderr: "" })
  expect(yield* shown(first.run_id)).toMatch(/\ncancelled by +a program with the admin key\n/)

  yield* failed
  const cancelQueued = (...words: ReadonlyArray<string>) => run(...words, "--yes")
  expect((yield* cancelQueued("webhook", "cancel-queued", "review")).stdout).toBe("Cancelled 0 runs and 1 retry.\n")
  yield* failed
  yield* failed
  expect((yield* cancelQueued("team", "cancel-queued", "ops", "--json")).stdout).toBe(
    `${JSON.stringify({ cancelled: 0, retries: 2 }, null, 2)}\n`
  )
  expect((yield* cancelQueued("team", "cancel-queued", "ops")).stdout).toBe("Nothing was queued.\n")

  expect((yield* set("1/1")).code).toBe(0)
  const { run_id } = yield* failed
  const { json } = yield* repeatUntil(admin("GET", `/api/runs/${run_id}`), ({ json }) => json.retried_by !== undefined)
  expect(yield* shown(run_id)).toMatch(
    new RegExp(`\\nnext attempt +${json.retried_by}\\nreplays +${json.retried_by}\\n`)
  )
  const second = yield* shown(json.retried_by)
  expect(second).toMatch(/\nattempt +2 of 2\n/)
  expect(second).toMatch(new RegExp(`\\nretry of +${run_id}\\n`))
})
