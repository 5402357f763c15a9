import { Effect } from "effect"
import { newFolder, run, type Server, serve, shell } from "../cli/Program.ts"
import { describe, expect, it } from "../support/It.ts"
import { freePort } from "../support/Process.ts"

const curls = (server: Server): ReadonlyArray<string> => server.welcome().match(/curl .*/g) ?? []
const adminKey = (server: Server): string => /Admin key +(wha_\S+)/.exec(server.welcome())![1]!

/** For a server that starts again on the same port: one that the system has chosen may be taken by then. */
const fixedPort = Effect.map(Effect.promise(freePort), String)

// Creating a database takes PGlite seconds of computing, many on a busy machine.
describe("the embedded default", () => {
  it.live(
    "goes from an empty folder to the first answer with the lines that it prints, and refuses a second server",
    function* () {
      const DATA_DIR = yield* newFolder
      const server = yield* serve({ DATA_DIR })
      expect(server.welcome()).toContain("This mode is for evaluation and for single-process use")
      const [trigger, triggerAndWait] = curls(server)

      const accepted = yield* shell(`${trigger} --silent --include`)
      expect(accepted.stdout).toMatch(/^HTTP\/1\.1 202 /)
      expect(accepted.stdout).toMatch(/\{"status":"accepted","run_id":"[0-9a-f-]{36}"\}$/)

      const answered = yield* shell(`${triggerAndWait} --silent --include`)
      expect(answered.stdout).toMatch(/^HTTP\/1\.1 200 /)
      expect(answered.stdout).toContain('"status":"success","response":"Say hello to world."')

      // A second server on the same folder, and one on the same port, learn what to do about it.
      const PORT = new URL(server.url).port
      const sameFolder = yield* run(["serve"], { DATA_DIR, PORT: "0" })
      expect(sameFolder.code).toBe(1)
      expect(sameFolder.stdout).toBe("")
      expect(sameFolder.stderr).toContain(`is in use by another server (process ${server.pid})`)
      expect(sameFolder.stderr).toContain("DATA_DIR")

      const samePort = yield* run(["serve"], { DATA_DIR: yield* newFolder, HOST: "127.0.0.1", PORT })
      expect(samePort.code).toBe(1)
      expect(samePort.stdout).toBe("")
      expect(samePort.stderr).toContain(`port ${PORT} is in use`)
      expect(samePort.stderr).toContain("--port")

      expect((yield* shell(`${triggerAndWait} --silent`)).stdout).toContain("success")
    }
  )

  it.live(
    "keeps everything over a clean stop, shows no secret twice, and has what it had accepted when killed",
    function* () {
      const [DATA_DIR, PORT] = [yield* newFolder, yield* fixedPort]
      const first = yield* serve({ DATA_DIR, PORT })
      const [trigger, triggerAndWait] = curls(first)
      const ADMIN_API_KEY = adminKey(first)
      const token = /whk_\w+/.exec(triggerAndWait!)![0]
      yield* shell(`${triggerAndWait} --silent`)
      expect((yield* first.end("SIGTERM")).code).toBe(0)

      const second = yield* serve({ DATA_DIR, PORT })
      expect(curls(second)).toEqual([])
      for (const secret of [token, ADMIN_API_KEY]) {
        expect(second.welcome()).not.toContain(secret)
        expect(first.log() + second.log()).not.toContain(secret)
      }
      expect((yield* shell(`${triggerAndWait} --silent`)).stdout).toContain('"response":"Say hello to world."')
      const runs = yield* run(["run", "list", "demo", "--json", "--url", second.url], { ADMIN_API_KEY })
      expect(JSON.parse(runs.stdout).data).toHaveLength(2)

      // The way to a new URL that the second start prints.
      const [line] = /webhook regenerate .*/.exec(second.welcome())!
      const regenerated = yield* run(line.split(" "), { ADMIN_API_KEY })
      const [fresh] = /whk_\w+/.exec(regenerated.stdout)!
      expect((yield* shell(`${triggerAndWait} --silent --output /dev/null --write-out '%{http_code}'`)).stdout).toBe(
        "404"
      )
      const [triggerFresh, triggerFreshAndWait] = [trigger, triggerAndWait].map((line) => line!.replace(token, fresh))
      expect((yield* shell(`${triggerFreshAndWait} --silent`)).stdout).toContain("Say hello to world.")

      const { run_id } = JSON.parse((yield* shell(`${triggerFresh} --silent`)).stdout)
      yield* second.end("SIGKILL")
      const third = yield* serve({ DATA_DIR, PORT })
      expect((yield* shell(`${triggerFreshAndWait} --silent`)).stdout).toContain('"response":"Say hello to world."')
      const shown = yield* run(["run", "show", run_id, "--json", "--url", third.url], { ADMIN_API_KEY })
      // It was in the lane before the one that has just been answered.
      expect(JSON.parse(shown.stdout)).toMatchObject({
        status: "success",
        conversation: { response: "Say hello to world." }
      })
    }
  )

  it.live("does not start with wrong settings, and names every one", function* () {
    const ended = yield* run(["serve", "--port", "80a"], {
      WEBHOOK_TIMEOUT: "soon",
      DATABASE_URL: "mysql://root:hunter2@db"
    })
    expect(ended.code).toBe(2)
    expect(ended.stdout).toBe("")
    for (const text of ["PORT", '"80a"', "WEBHOOK_TIMEOUT", '"soon"', "DATABASE_URL"])
      expect(ended.stderr).toContain(text)
    expect(ended.stderr).not.toContain("hunter2")
  })
})
