/** The UI's snippet of a leader in TypeScript, which imports the package. */

import { Effect } from "effect"
import { leaderSnippets } from "../../src/ui/pages/team/LeaderSnippets.ts"
import { call } from "../http/Client.ts"
import { freshVhost } from "../support/fresh.ts"
import { serve } from "../support/InProcess.ts"
import { expect, it } from "../support/It.ts"
import { startDaemon } from "../support/Process.ts"
import { temporaryFolder } from "../support/private.ts"
import { repeatUntil } from "../support/Until.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"
const root = new URL("../../", import.meta.url).pathname

it.live("leads its team", function* () {
  const AMQP_URL = yield* freshVhost
  const { url } = yield* serve({ ADMIN_API_KEY, AMQP_URL })
  const http = call(url)
  const headers = { authorization: `Bearer ${ADMIN_API_KEY}` }
  yield* http("POST", "/api/teams", { headers, body: { team: "typescript" } })
  const { text } = leaderSnippets("typescript", { bus: "RabbitMQ", command: "webhook-trigger", public_url: url }).find(
    ({ id }) => id === "typescript"
  )!
  const env = { PATH: process.env.PATH ?? "", AMQP_URL }
  const folder = yield* temporaryFolder
  const options = { env, cwd: root }
  yield* Effect.acquireRelease(
    Effect.sync(() => startDaemon(folder, process.execPath, ["--input-type=module", "-e", text], options)),
    (leader) => Effect.promise(() => leader.stop("SIGKILL"))
  )
  yield* repeatUntil(http("GET", "/api/teams/typescript", { headers }), ({ json }) => json.running)
  const message = { headers, body: { message: "hello" } }
  const { json } = yield* http("POST", "/api/teams/typescript/messages?wait=true", message)
  expect(json.response).toBe("You said: hello")
})
