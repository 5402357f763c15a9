/** Runs that wait for a time, on the command line. */

import * as Server from "../../http/Server.ts"
import { expect, it } from "../../support/It.ts"
import { runWith } from "../CommandLine.ts"

it.live("a run that waits for its time is shown, and started early", function* () {
  const { origin, team, webhook } = yield* Server.start()
  const run = (...words: ReadonlyArray<string>) =>
    runWith({ ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: origin }, ...words)
  const hook = yield* webhook(yield* team("ops"), "{{text}}")
  const triggered = yield* run("trigger", `${origin}${hook.path}`, "--var", "text=hi", "--not-before", "8h")
  expect(triggered.code).toBe(0)
  const shown = yield* run("run", "show", "last")
  expect(shown.stdout).toMatch(/\nstatus +scheduled\n/)
  expect(shown.stdout).toMatch(/\nheld until +\d{4}-/)
  expect(yield* run("run", "start", "last")).toEqual({ code: 0, stdout: "It starts within a second.\n", stderr: "" })
  const refused = yield* run("trigger", `${origin}${hook.path}`, "--var", "text=hi", "--not-before", "later")
  expect(refused.stderr).toContain("must be a time such as `2026-01-31T03:00:00Z`, or a duration such as `8h`")
})
