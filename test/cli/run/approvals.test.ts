/** Approvals on the command line. */

import { Effect } from "effect"
import * as Server from "../../http/Server.ts"
import { expect, it } from "../../support/It.ts"
import { runWith } from "../CommandLine.ts"

it.live("a run that waits for approval is listed, and approved or denied once", function* () {
  const { http, origin, team, webhook } = yield* Server.start()
  const run = (...words: ReadonlyArray<string>) =>
    runWith({ ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: origin }, "run", ...words)
  const hook = yield* webhook(yield* team("ops"), "{{text}}", { approval: "required" })
  const trigger = Effect.map(http("POST", hook.path, { body: Server.hello }), ({ json }) => json.run_id as string)
  const [one, other] = [yield* trigger, yield* trigger]
  expect((yield* run("list", "--asks")).stdout.match(/waits for approval/g)).toHaveLength(2)
  expect((yield* run("show", one)).stdout).toMatch(/\nheld until +\d{4}-/)
  expect(yield* run("approve", one)).toEqual({ code: 0, stdout: "Approved.\n", stderr: "" })
  expect((yield* run("deny", other)).stdout).toBe("Denied. The prompt will not be sent.\n")
  expect((yield* run("show", one)).stdout).toMatch(/\napproved by +admin key\n/)
  expect((yield* run("show", other)).stdout).toMatch(/\ncancelled by +the person who denied it\n/)
  const late = yield* run("approve", other)
  expect(late.code).not.toBe(0)
  expect(late.stderr).toContain("It was denied before, by admin key.")
})
