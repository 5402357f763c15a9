import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { bornAt } from "../../../src/runtime/Processes.ts"
import { newFolder, serve } from "../../cli/Program.ts"
import { repository } from "../../leader/workspace/Repositories.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { ADMIN_API_KEY, call } from "./Management.ts"

/** What stands still at each step, once, when the file `step` names it. */
const programOf = (folder: string, real: string) => `#!/bin/sh
case " $* " in
  *" $(cat '${folder}/step' 2>/dev/null || echo none) "*) rm '${folder}/step'; echo $$ > '${folder}/new'; mv '${folder}/new' '${folder}/stopped'; exec sleep 600 ;;
esac
exec ${real} "$@"
`

/** Whether a server that finds this process later knows that its group was started for a folder. */
const isRemembered = (agents: string, pid: number): boolean => {
  const group = execFileSync("ps", ["-o", "pgid=", "-p", String(pid)], { encoding: "utf8" }).trim()
  // Other files come and go while it looks, which is no matter.
  const found = spawnSync("find", [agents, "-path", `*/programs/${group}`, "-size", "+0"], { encoding: "utf8" })
  return found.stdout.trim() !== ""
}

it.live(
  "a server that is killed at any step goes on with a clean folder, and nothing is left at work in it",
  function* () {
    const [DATABASE_URL, folder] = [yield* freshDatabase, yield* newFolder]
    const { url } = yield* repository
    mkdirSync(folder, { recursive: true })
    for (const name of ["git", "rm", "sh-at"]) {
      const real = execFileSync("sh", ["-c", `command -v ${name === "sh-at" ? "true" : name}`], {
        encoding: "utf8"
      }).trim()
      writeFileSync(join(folder, name), programOf(folder, real), { mode: 0o755 })
    }
    const AGENTS_DIR = join(folder, "agents")
    const LEADERS = `ops=--workspace git:${url} --workspace-setup 'sh-at setup && touch done' sh -c 'sh-at work; eval "$(cat)"'`
    const start = serve({ DATABASE_URL, ADMIN_API_KEY, AGENTS_DIR, LEADERS, PATH: `${folder}:${process.env.PATH}` })
    const stopped = join(folder, "stopped")
    let server = yield* start
    // All but the setup and the work are of git; the last one is after the work.
    for (const step of ["fetch", "clone", "checkout", "setup", "work", "--shortstat"]) {
      writeFileSync(join(folder, "step"), step)
      const message = { message: "ls; git status --short", thread: step }
      const { message_id } = yield* call(server.url, "POST", "/api/teams/ops/messages", message)
      yield* untilEffect(
        `${step} stands still`,
        Effect.sync(() => existsSync(stopped))
      )
      const left = Number(readFileSync(stopped, "utf8"))
      // It may be quicker than the server, which writes down what it has started.
      yield* untilEffect(
        `${step} is remembered`,
        Effect.sync(() => isRemembered(AGENTS_DIR, left))
      )
      yield* server.end("SIGKILL")
      rmSync(stopped)
      expect(bornAt(left), step).not.toBe("")
      server = yield* start
      const ended = yield* untilEffect(
        `the run at ${step} has ended`,
        Effect.map(call(server.url, "GET", `/api/runs/${message_id}`), (run) => (run.finished_at ? run : false))
      )
      expect(ended, step).toMatchObject({
        conversation: { response: "done\nreadme.md\n?? done" },
        workspace: { files: 1, insertions: 0 }
      })
      expect(bornAt(left), step).toBe("")
    }

    const ids = join(AGENTS_DIR, ".workspaces/folders/ops")
    // Of a run without a conversation, the copy is removed at the end.
    yield* call(server.url, "POST", "/api/teams/ops/messages", { message: `printf %s -rf > '${folder}/step'` })
    yield* untilEffect(
      "the removal stands still",
      Effect.sync(() => existsSync(stopped))
    )
    yield* server.end("SIGKILL")
    yield* start
    yield* untilEffect(
      "only folders of conversations are left",
      Effect.sync(() => readdirSync(ids).length === 6)
    )
  }
)
