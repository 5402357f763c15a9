import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { newFolder, serve } from "../cli/Program.ts"
import { ADMIN_API_KEY } from "../cli/SharedServer.ts"
import { expect, it } from "../support/It.ts"
import { freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const script = fileURLToPath(new URL("http_leader.py", import.meta.url))

it("stands in the documentation", () => {
  const page = readFileSync(new URL("../../docs/reference/leaders-http.md", import.meta.url), "utf8")
  expect(page).toContain(`\`\`\`python\n${readFileSync(script, "utf8")}\`\`\``)
})

const startPython = (url: string, keyFile: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn("/usr/bin/python3", [script, url, keyFile], { stdio: "inherit" })),
    (child: ChildProcess) =>
      Effect.callback<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )

it.live("leads a team of a server without a broker, also after the server or another leader was killed", function* () {
  const folder = yield* newFolder
  const settings = { ADMIN_API_KEY, DATA_DIR: folder, PORT: String(yield* Effect.promise(() => freePort())) }
  let server = yield* serve(settings)
  const call = (method: string, path: string, body?: object): Promise<any> =>
    fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) })
    }).then((response) => response.json())
  const say = (message: string) =>
    Effect.promise(() => call("POST", "/api/teams/review/messages?wait=true", { message }))
  const isLed = Effect.promise(() =>
    until("the team is led", async () => (await call("GET", "/api/teams/review")).running)
  )

  yield* Effect.promise(() => call("POST", "/api/teams", { team: "review" }))
  const { key } = yield* Effect.promise(() => call("POST", "/api/teams/review/leader-keys", { name: "laptop" }))
  const keyFile = join(folder, "leader.key")
  writeFileSync(keyFile, key, { mode: 0o600 })

  const first = yield* startPython(server.url, keyFile)
  yield* isLed
  expect(yield* say("grüße")).toMatchObject({ status: "success", response: "GRÜSSE" })

  yield* server.end("SIGKILL")
  server = yield* serve(settings)
  yield* isLed
  expect(yield* say("again")).toMatchObject({ status: "success", response: "AGAIN" })

  yield* startPython(server.url, keyFile)
  first.kill("SIGKILL")
  expect(yield* say("from the other")).toMatchObject({ status: "success", response: "FROM THE OTHER" })
})
