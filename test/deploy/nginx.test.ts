/** `deploy/proxy/nginx.conf` in a real nginx, in front of a real server. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { hello, start } from "../http/Server.ts"
import { expect, it } from "../support/It.ts"
import { temporaryFolder } from "../support/private.ts"
import { until, untilEffect } from "../support/Until.ts"

const freePort = Effect.promise(async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
})

const startNginx = (server: number) =>
  Effect.gen(function* () {
    const port = yield* freePort
    const dir = yield* temporaryFolder
    chmodSync(dir, 0o777)
    const subject = ["-subj", "/CN=hooks.example.com", "-days", "2"]
    const pair = ["-keyout", join(dir, "key.pem"), "-out", join(dir, "cert.pem")]
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...pair, ...subject], { stdio: "ignore" })
    const site = readFileSync(new URL("../../deploy/proxy/nginx.conf", import.meta.url), "utf8")
      .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
      .replace("127.0.0.1:8080", `127.0.0.1:${server}`)
      .replace("/etc/ssl/hooks.example.com.pem", join(dir, "cert.pem"))
      .replace("/etc/ssl/hooks.example.com.key", join(dir, "key.pem"))
      .replaceAll("/var/log/nginx", dir)
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => {
      mkdirSync(join(dir, name))
      return `${name}_temp_path ${join(dir, name)};`
    })
    const main = join(dir, "nginx.conf")
    writeFileSync(
      main,
      `daemon off; master_process off; pid ${join(dir, "pid")}; error_log stderr;\nevents {}\nhttp {\n${temporary.join("\n")}\n${site}\n}\n`
    )
    yield* Effect.acquireRelease(
      Effect.sync(() => spawn("nginx", ["-c", main], { stdio: "inherit" })),
      (nginx) =>
        Effect.promise(async () => {
          nginx.kill("SIGQUIT")
          await once(nginx, "exit")
        })
    )
    return { port, log: () => readFileSync(join(dir, "webhook-trigger.log"), "utf8") }
  })

/** A POST through nginx; an answer's status, `0` while nothing listens. */
const post = (port: number, path: string, body: object, address = "192.0.2.7") =>
  Effect.callback<{ readonly status: number; readonly text: string }>((resume) => {
    const headers = { "content-type": "application/json", "x-forwarded-for": address }
    const sent = request(
      { port, path, method: "POST", headers, rejectUnauthorized: false, host: "127.0.0.1" },
      (answer) => {
        const chunks: Array<Buffer> = []
        answer.on("data", (chunk) => chunks.push(chunk))
        answer.on("end", () =>
          resume(Effect.succeed({ status: answer.statusCode!, text: Buffer.concat(chunks).toString() }))
        )
      }
    )
    sent.on("error", () => resume(Effect.succeed({ status: 0, text: "" })))
    sent.end(JSON.stringify(body))
  })

it.live("passes requests on with the caller's address, and writes no token to its log", function* () {
  const server = yield* start({ trustedProxies: ["127.0.0.1"] })
  const hook = yield* server.webhook(yield* server.team("ops"), "{{text}}", { allow_from: ["192.0.2.7"] })
  const nginx = yield* startNginx(server.port)
  const answered = yield* untilEffect(
    "nginx listens",
    Effect.map(post(nginx.port, `${hook.path}?wait=true`, hello), (answer) => answer.status !== 0 && answer)
  )
  expect([answered.status, JSON.parse(answered.text).response]).toEqual([200, "echo: hello"])
  yield* Effect.promise(() =>
    until("the request is in nginx's log", () => nginx.log().includes('"POST /webhook/trigger/[token]" 200'))
  )
  expect(nginx.log()).not.toContain(hook.token)
  expect(nginx.log()).not.toContain(hook.token.slice(0, 12))
})
