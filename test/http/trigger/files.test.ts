/** Files: sent with a request, given to the agent in its folder, and taken from there. */
import { readdirSync } from "node:fs"
import { Effect, Layer, Redacted } from "effect"
import type { LeaderBus } from "../../../src/bus/Bus.ts"
import * as LeaderHttp from "../../../src/bus/http/LeaderHttp.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { Command } from "../../../src/leader/index.ts"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { busOnRabbitMq } from "../../support/RealServices.ts"
import { s3Server } from "../../support/S3Server.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { adminKey, type Options, start } from "../Server.ts"

const team = TeamName.make("ops")

type Part = readonly [name: string, value: string | Uint8Array, filename?: string, type?: string]

/** Not `FormData`, which would escape the names. */
const form = (parts: ReadonlyArray<Part>) => ({
  headers: { "content-type": "multipart/form-data; boundary=xyz" },
  raw: Buffer.concat([
    ...parts.flatMap(([name, value, filename, type]) => [
      Buffer.from(
        `--xyz\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}\r\n${type === undefined ? "" : `Content-Type: ${type}\r\n`}\r\n`
      ),
      Buffer.from(value),
      Buffer.from("\r\n")
    ]),
    Buffer.from("--xyz--\r\n")
  ])
})

/** All bytes, and what could end a part early. */
const binary = Buffer.concat([
  Buffer.from("\r\n--xy\r\n--"),
  Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7 + (i >> 8)) & 255))
])

const started = (options: Options = {}) =>
  Effect.gen(function* () {
    const server = yield* start(options)
    yield* server.admin("POST", "/api/teams", { body: { team } })
    const hook = yield* server.webhook(team, "{{task}}", { when_team_stopped: "queue" })
    const runs = server.history(hook.id)
    const download = (run_id: string, id: string) =>
      Effect.promise(async () => {
        const response = await fetch(`${server.origin}/api/runs/${run_id}/files/${id}`, {
          headers: { authorization: `Bearer ${adminKey}`, connection: "close" }
        })
        return { response, bytes: Buffer.from(await response.arrayBuffer()) }
      })
    const post = (parts: ReadonlyArray<Part>, query = "", headers = {}) => {
      const { headers: type, raw } = form(parts)
      return server.http("POST", hook.path + query, { raw, headers: { ...type, ...headers } })
    }
    const filesOf = (run_id: string) =>
      Effect.map(server.admin("GET", `/api/runs/${run_id}/files`), ({ json }) => json.data)
    const isLed = untilEffect(
      "the team has a leader",
      Effect.map(server.admin("GET", `/api/teams/${team}`), ({ json }) => json.running === true)
    )
    return { ...server, hook, runs, post, download, filesOf, isLed }
  })

type Started = Effect.Success<ReturnType<typeof started>>

/** The agent is a shell, and the prompt its script. */
const agent = (workspace: string) =>
  Command.start({ team, command: "sh", args: ["-c", 'eval "$(cat)"'], workspace: { folder: workspace } })

const roundTrip = (options: Options, bus: (server: Started) => Effect.Effect<Layer.Layer<LeaderBus, unknown>>) =>
  Effect.gen(function* () {
    const server = yield* started(options)
    const workspace = yield* temporaryFolder
    yield* Effect.provide(agent(workspace), yield* Layer.build(yield* bus(server)))
    const task = `ls in; mkdir -p out; cp in/data.bin out/copy.bin; echo "<script>alert(1)</script>" > out/page.html
ln -s /etc/passwd out/link; exit`
    yield* server.isLed
    const { json, status, text } = yield* server.post(
      [
        ["task", task],
        ["file", binary, "data.bin", "image/png"],
        ["file", "a,b", "../../Data.BIN"]
      ],
      "?wait=true"
    )
    expect(status, text).toBe(200)
    expect(json.response).toBe("2-Data.BIN\ndata.bin")
    // On a busy machine, the answer may come before a file is stored.
    const files = yield* untilEffect(
      "all files are stored",
      Effect.map(server.filesOf(json.run_id), (files) => files.length === 4 && files)
    )
    expect(files).toEqual([
      { id: "in-1", name: "data.bin", type: "image/png", size: binary.length },
      { id: "in-2", name: "2-Data.BIN", type: "application/octet-stream", size: 3 },
      { id: "out-1", name: "copy.bin", type: "application/octet-stream", size: binary.length },
      { id: "out-2", name: "page.html", type: "application/octet-stream", size: 26 }
    ])
    for (const id of ["in-1", "out-1"]) {
      expect((yield* server.download(json.run_id, id)).bytes.equals(binary), id).toBe(true)
    }
    expect(readdirSync(workspace).sort()).toEqual([".webhook-trigger", "out"])
    return { ...server, run_id: json.run_id as string }
  })

const overHttp = ({ admin, origin }: Started) =>
  Effect.map(admin("POST", `/api/teams/${team}/leader-keys`, { body: { name: "laptop" } }), ({ json }) =>
    LeaderHttp.layer({ url: origin, key: Redacted.make(json.key) })
  )

describe("files of a request are in the agent's folder, and those that it leaves are kept", () => {
  it.live("with a leader in the server's process; a page is only ever an attachment", function* () {
    const { download, run_id } = yield* roundTrip({}, ({ context }) => Effect.succeed(Layer.succeedContext(context)))
    const { response } = yield* download(run_id, "out-2")
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": "attachment; filename*=UTF-8''page.html",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox"
    })
    expect((yield* download(run_id, "out-3")).response.status).toBe(404)
  })

  it.live("with a leader over HTTP", () => roundTrip({}, overHttp))

  it.live("with a leader on RabbitMQ", () =>
    roundTrip({ bus: busOnRabbitMq }, ({ context }) => Effect.succeed(Layer.succeedContext(context)))
  )
})

describe("files in a bucket", () => {
  it.live("come from there and go there, with a leader in the server's process", function* () {
    const { objects, settings } = yield* s3Server
    const { download, run_id } = yield* roundTrip({ bucket: settings }, ({ context }) =>
      Effect.succeed(Layer.succeedContext(context))
    )
    yield* untilEffect(
      "the files are moved to the bucket",
      Effect.sync(() => objects.size === 4)
    )
    expect((yield* download(run_id, "out-1")).bytes.equals(binary)).toBe(true)
    for (const key of objects.keys()) expect(key).toContain(`hooks/${run_id}/`)
  })

  it.live("come from there and go there, with a leader over HTTP", () =>
    Effect.flatMap(s3Server, ({ settings }) => roundTrip({ bucket: settings }, overHttp))
  )

  const holdUpNone = (options: Options) =>
    Effect.gen(function* () {
      const bucket = yield* s3Server
      const server = yield* started({ ...options, bucket: bucket.settings })
      yield* Effect.provide(agent(yield* temporaryFolder), server.context)
      yield* server.isLed
      bucket.silentFor = /./
      const task = "cat in/data.bin | wc -c; mkdir -p out; echo late > out/late.txt; exit"
      const { json, status } = yield* server.post(
        [
          ["task", task],
          ["file", binary, "data.bin"]
        ],
        "?wait=true"
      )
      expect([status, json.response]).toEqual([200, String(binary.length)])
      yield* untilEffect(
        "the agent's file is kept",
        Effect.map(server.filesOf(json.run_id), (files) => files.length === 2)
      )
      expect((yield* server.download(json.run_id, "out-1")).bytes.toString()).toBe("late\n")
      expect(bucket.objects.size).toBe(0)
    })

  it.live("hold up no request, agent or answer while the bucket does not answer", () => holdUpNone({}))

  it.live("hold up none on RabbitMQ either", () => holdUpNone({ bus: busOnRabbitMq }))

  const missing = (
    options: Options,
    bus: (server: Started) => Effect.Effect<Layer.Layer<LeaderBus, unknown>> = ({ context }) =>
      Effect.succeed(Layer.succeedContext(context))
  ) =>
    Effect.gen(function* () {
      const bucket = yield* s3Server
      const server = yield* started({ ...options, bucket: bucket.settings })
      const { json } = yield* server.post([
        ["task", "cat in/data.bin; exit"],
        ["file", binary, "data.bin"]
      ])
      yield* untilEffect(
        "the file is moved to the bucket",
        Effect.sync(() => bucket.objects.size === 1)
      )
      bucket.objects.clear()
      bucket.mayList = false
      const { response } = yield* server.download(json.run_id, "in-1")
      expect(response.status).toBe(404)
      // The agent works without it.
      yield* Effect.provide(agent(yield* temporaryFolder), yield* Layer.build(yield* bus(server)))
      const run = yield* untilEffect(
        "the run has ended",
        Effect.map(server.admin("GET", `/api/runs/${json.run_id}`), ({ json }) => json.finished_at && json)
      )
      const { json: steps } = yield* server.admin("GET", `/api/runs/${json.run_id}/steps`)
      expect(steps.data, run.status).toContainEqual(
        expect.objectContaining({
          title: "Not available: data.bin",
          detail: expect.stringContaining("Grant s3:GetObject")
        })
      )
    })
  it.live("that are gone or forbidden are named in the run at once, with the reason", () => missing({}))

  it.live("that are gone or forbidden are named to a leader over HTTP, too", () => missing({}, overHttp))

  it.live("that are gone or forbidden are named to a leader on RabbitMQ, too", () => missing({ bus: busOnRabbitMq }))
})

describe("what an agent leaves in out/", () => {
  it.live("and cannot be kept is named in the run, whatever it is", function* () {
    const server = yield* started()
    yield* Effect.provide(agent(yield* temporaryFolder), server.context)
    yield* server.isLed
    const task = `mkdir -p out/report; cd out; echo a > report/index.html; ln -s /etc/passwd link; mkfifo pipe
printf x > "$(printf 'a\\377b')"; echo kept > '-- a "quoted" name.txt'; head -c 5000001 /dev/zero > big.bin; exit`
    const { json, status, text } = yield* server.post([["task", task]], "?wait=true")
    expect(status, text).toBe(200)
    const steps = yield* untilEffect(
      "the steps are there",
      Effect.map(
        server.admin("GET", `/api/runs/${json.run_id}/steps`),
        ({ json }) => json.data.length >= 5 && json.data
      )
    )
    const kept = steps.map(({ detail, title }: { detail: string; title: string }) => [title, detail])
    expect(kept).toEqual(
      expect.arrayContaining([
        ["Not kept: out/a\u00ffb", "Its name is not UTF-8. Rename it."],
        ["Not kept: out/big.bin", "It is larger than 5 MB."],
        ["Not kept: out/link", "It is no regular file. Copy its content to one."],
        ["Not kept: out/pipe", "It is no regular file. Copy its content to one."],
        ["Not kept: out/report", expect.stringContaining("It is a folder.")]
      ])
    )
    const files = yield* untilEffect(
      "the other one is kept",
      Effect.map(server.filesOf(json.run_id), (files) => files.length === 1 && files)
    )
    expect(files).toMatchObject([{ id: "out-1", size: 5 }])
  })
})

describe("files that are refused", () => {
  it.live("are too many or too large, and leave nothing behind", function* () {
    const { http, hook, post, runs } = yield* started()
    const small = (count: number): ReadonlyArray<Part> =>
      Array.from({ length: count }, (_, i) => ["file", "x", `${i}.txt`])
    const tooMany = yield* post([["task", "x"], ...small(11)])
    expect(refusal(tooMany)).toStrictEqual([413, "body_too_large"])
    expect(tooMany.json.detail).toContain("At most 10 files of 5 MB each")
    expect(refusal(yield* post([["file", new Uint8Array(5_000_001), "big.bin"]]))).toStrictEqual([
      413,
      "body_too_large"
    ])
    // Texts have the limit of any other body.
    expect(refusal(yield* post([["task", "x".repeat(1_100_000)], ...small(1)]))).toStrictEqual([413, "body_too_large"])
    expect(refusal(yield* post([["task", "x".repeat(1_100_000)]]))).toStrictEqual([413, "body_too_large"])
    expect(refusal(yield* post([["other", "x"], ...small(1)]))).toStrictEqual([422, "missing_variables"])
    expect(refusal(yield* http("POST", `${hook.path}x`, form(small(11))))).toStrictEqual([404, "not_found"])
    expect(yield* runs).toEqual([])
  })
})
