import { execFileSync, spawn } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect } from "@effect/vitest"
import { Duration, Effect, Fiber, Logger, References } from "effect"
import { TeamName } from "../../../src/domain/Team.ts"
import { SystemUser } from "../../../src/leader/index.ts"
import { bornAt } from "../../../src/runtime/Processes.ts"
import { temporaryFolder } from "../../support/private.ts"
import { untilEffect } from "../../support/Until.ts"
import { behaviour, folderInPath, onBusOfItsOwn } from "../agents/Leading.ts"
import { copiesOf, failed, foldersOf, inThread, leading, repository, response } from "./Repositories.ts"

const withoutPlaces = (folders: ReadonlyArray<string>) =>
  folders.map((folder) => folder.replace(/\.set-aside-.*$/, " aside")).sort()

describe("an agent with a repository", () => {
  behaviour(
    "removes the folder of a run without a thread, threads whose time is over, and the oldest of too many",
    Effect.gen(function* () {
      const { url } = yield* repository
      const workspaces = yield* temporaryFolder
      const only = (...numbers: ReadonlyArray<number>) =>
        untilEffect(
          `the folders are those of ${numbers}`,
          Effect.sync(() => {
            const ids = numbers.map((number) => inThread(number).thread!.id as string)
            return JSON.stringify([...foldersOf(workspaces)].sort()) === JSON.stringify(ids)
          })
        )
      const copies = copiesOf(url, { disk: 3e6 })
      yield* onBusOfItsOwn(
        Effect.gen(function* () {
          const { send } = yield* leading(copies, { workspaces })
          expect(yield* send("ls")).toMatchObject(response("readme.md"))
          yield* only()
          yield* untilEffect(
            "nothing is left of it",
            Effect.sync(() => readdirSync(join(workspaces, "locks/folders/deploy")).length === 0)
          )
          for (const number of [1, 2]) yield* send("head -c 1000000 /dev/zero > zeros", inThread(number))
          yield* only(1, 2)
          yield* send("head -c 1000000 /dev/zero > zeros", inThread(3))
          yield* only(2, 3)
        })
      )
      // A start looks as well.
      yield* onBusOfItsOwn(Effect.andThen(leading({ ...copies, keep: Duration.zero }, { workspaces }), only()))
    })
  )

  behaviour(
    "removes read-only folders, and the others if one cannot be removed or measured",
    Effect.gen(function* () {
      const { folder: source, url } = yield* repository
      const [workspaces, programs] = [yield* temporaryFolder, yield* folderInPath]
      execFileSync("chown", ["-R", "nobody", source])
      chmodSync(workspaces, 0o711)
      chmodSync(programs, 0o755)
      writeFileSync(join(programs, "du"), '#!/bin/sh\nPATH=/usr/bin:/bin du "$@"; exit 1\n', { mode: 0o755 })
      const user = yield* SystemUser.find("nobody")
      const place = { workspaces, user }
      yield* onBusOfItsOwn(
        Effect.gen(function* () {
          const { send } = yield* leading(copiesOf(url), place)
          for (const number of [1, 2]) {
            const work = "mkdir cache; head -c 9000000 /dev/zero > cache/file; chmod -R a-w cache"
            expect(yield* send(work, inThread(number))).toMatchObject({ _tag: "Answered" })
          }
          expect(yield* send("true", inThread(3))).toMatchObject({ _tag: "Answered" })
        })
      )
      const [one, two] = [1, 2].map((number) => inThread(number).thread!.id as string)
      const roots = join(workspaces, "folders/deploy", one!, "roots")
      mkdirSync(roots)
      writeFileSync(join(roots, "file"), "")
      const only = (...ids: ReadonlyArray<string>) =>
        untilEffect(
          `the folders are ${ids}`,
          Effect.sync(() => JSON.stringify(withoutPlaces(foldersOf(workspaces))) === JSON.stringify(ids))
        )
      // The disk has room for the latest; then the time of all is over.
      yield* onBusOfItsOwn(
        Effect.andThen(leading(copiesOf(url, { disk: 5e6 }), place), only(`${one} aside`, inThread(3).thread!.id))
      )
      expect(foldersOf(workspaces)).not.toContain(two)
      yield* onBusOfItsOwn(Effect.andThen(leading(copiesOf(url, { keep: Duration.zero }), place), only(`${one} aside`)))
    })
  )

  behaviour(
    "goes on in a new folder if files of root are in the way, says how to remove them, and counts them until then",
    Effect.gen(function* () {
      const { commit, folder: source, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const next = commit("next", { "next.txt": "next\n" })
      execFileSync("chown", ["-R", "nobody", source])
      chmodSync(workspaces, 0o711)
      const place = { workspaces, user: yield* SystemUser.find("nobody") }
      const id = inThread(1).thread!.id
      const folder = join(workspaces, "folders/deploy", id)
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      const only = (...names: ReadonlyArray<string>) =>
        untilEffect(
          `the folders are ${names}`,
          Effect.sync(() => JSON.stringify(withoutPlaces(foldersOf(workspaces))) === JSON.stringify(names))
        )
      yield* onBusOfItsOwn(
        Effect.gen(function* () {
          const { send } = yield* leading(copiesOf(url), place)
          yield* send("true", inThread(1, "main"))
          // It stays where git cannot write.
          writeFileSync(join(folder, ".git/FETCH_HEAD"), "")
          const note = expect.stringContaining("cannot be updated")
          expect(yield* send("ls", inThread(1, next))).toMatchObject({
            ...response("readme.md"),
            report: { workspace: { note } }
          })
          mkdirSync(join(folder, "roots"))
          writeFileSync(join(folder, "roots/file"), Buffer.alloc(3e6))
          rmSync(join(folder, ".git/HEAD"))
          expect(yield* send("ls", inThread(1, "main"))).toMatchObject(response("readme.md"))
        })
      ).pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "Warn"))
      const [aside = ""] = foldersOf(workspaces).filter((name) => name.includes(".set-aside-"))
      expect(lines.filter((line) => line.includes(aside))).toEqual([
        expect.stringContaining(`rm -rf '${join(workspaces, "folders/deploy", aside)}'`)
      ])
      yield* only(id, `${id} aside`)
      yield* onBusOfItsOwn(Effect.andThen(leading(copiesOf(url, { disk: 2e6 }), place), only(`${id} aside`)))
      execFileSync("chown", ["-R", "nobody", join(workspaces, "folders/deploy", aside)])
      yield* onBusOfItsOwn(Effect.andThen(leading(copiesOf(url), place), only()))
    })
  )

  behaviour(
    "keeps a folder in use, and the agent of another team never sees it: 20 threads of 5 pull requests, five at a time",
    Effect.gen(function* () {
      const { commit, git, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const heads = [1, 2, 3, 4, 5].map((number) => {
        const head = commit(`change-${number}`, { [`only-${number}.txt`]: `${number}\n` })
        git("update-ref", `refs/pull/${number}/head`, head)
        return head
      })
      const threads = Array.from({ length: 20 }, (_, index) => index)
      const answers = yield* Effect.forEach(
        heads,
        (_, of) =>
          onBusOfItsOwn(
            Effect.gen(function* () {
              const { send } = yield* leading(copiesOf(url), { workspaces, team: TeamName.make(`team-${of}`) })
              const its = threads.filter((thread) => thread % 5 === of)
              const work = (thread: number) =>
                send(
                  `echo ${thread} > mine-${thread}; git add mine-${thread}; git -c user.name=A -c user.email=a@b.example commit -qm ${thread}; pwd; ls; git branch | wc -l`,
                  inThread(thread, thread % 2 === 0 ? heads[thread % 5]! : `refs/pull/${(thread % 5) + 1}/head`)
                )
              const first = yield* Effect.forEach(its, work)
              const second = yield* Effect.forEach(its, (thread) =>
                send("pwd; ls", inThread(thread, heads[thread % 5]!))
              )
              return its.map((thread, index) => ({ thread, first: first[index], second: second[index] }))
            })
          ),
        { concurrency: 5 }
      )
      const folders = new Set<string>()
      for (const { first, second, thread } of answers.flat()) {
        const [folder, ...listed] = (first as { response: string }).response.split("\n")
        folders.add(folder!)
        const files = [`mine-${thread}`, `only-${(thread % 5) + 1}.txt`, "readme.md"]
        expect(listed).toEqual([...files, "1"])
        expect(second).toMatchObject(response([folder, ...files].join("\n")))
      }
      expect(folders.size).toBe(20)
      for (const of of heads.keys()) {
        yield* onBusOfItsOwn(
          leading(copiesOf(url, { keep: Duration.zero }), { workspaces, team: TeamName.make(`team-${of}`) }).pipe(
            Effect.andThen(
              untilEffect(
                "disk is freed",
                Effect.sync(() => foldersOf(workspaces, `team-${of}`).length === 0)
              )
            )
          )
        )
      }
    })
  )

  behaviour(
    "makes a folder anew that a crash has left half-made, and goes on in one that a killed git has left locked",
    Effect.gen(function* () {
      const { url } = yield* repository
      const workspaces = yield* temporaryFolder
      const { send } = yield* leading(copiesOf(url), { workspaces })
      const folder = join(workspaces, "folders/deploy", inThread(1).thread!.id)
      mkdirSync(join(folder, ".git"), { recursive: true })
      writeFileSync(join(folder, "half"), "")
      expect(yield* send("ls; echo kept > kept", inThread(1))).toMatchObject(response("readme.md"))
      writeFileSync(join(folder, ".git/index.lock"), "")
      const [mirror = ""] = readdirSync(join(workspaces, "mirrors"))
      writeFileSync(join(workspaces, "mirrors", mirror, "packed-refs.lock"), "")
      expect(yield* send("ls; git add kept; ls .git/*.lock 2>/dev/null", inThread(1))).toMatchObject(
        failed("exit code 2")
      )
      expect(yield* send("ls; git ls-files", inThread(1))).toMatchObject(response("kept\nreadme.md\nkept\nreadme.md"))
      rmSync(join(folder, ".git"), { recursive: true })
      expect(yield* send("ls", inThread(1))).toMatchObject(response("readme.md"))
    })
  )

  behaviour(
    "keeps commits of the thread's branch when the agent has left it, and the state of a folder that another process has taken",
    Effect.gen(function* () {
      const { commit, first, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const { send } = yield* leading(copiesOf(url), { workspaces })
      const mine = "git -c user.name=A -c user.email=a@b.example commit -q --allow-empty -m mine"
      yield* send(`${mine}; git checkout -q --detach ${first}`, inThread(1))
      const next = commit("main", { "readme.md": "second\n" })
      expect(yield* send(`git log -1 --format=%s webhook/${inThread(1).thread!.id}`, inThread(1, next))).toMatchObject({
        ...response("mine"),
        report: { workspace: { note: expect.stringContaining("has commits of its own") } }
      })
      yield* send(`git branch -D webhook/${inThread(1).thread!.id}`, inThread(1))
      expect(yield* send("git rev-parse HEAD", inThread(1, next))).toMatchObject(response(next))

      const lock = join(workspaces, "locks/folders/deploy", inThread(2).thread!.id)
      const theirs = `echo '{"token":"theirs"}' > ${lock}/lock; echo theirs > ${lock}/state.json`
      expect(yield* send(theirs, inThread(2))).toMatchObject({ _tag: "Answered" })
      expect(readFileSync(join(lock, "state.json"), "utf8")).toBe("theirs\n")
    })
  )
})

describe("an agent with a folder", () => {
  behaviour(
    "is not started in one that does not exist, or whose lock another user has made",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { send } = yield* leading({ folder: join(folder, "none") }, {})
      expect(yield* send("true")).toMatchObject(failed("no such file or directory"))
      mkdirSync(join(folder, "none/.webhook-trigger"), { recursive: true })
      execFileSync("chown", ["nobody", join(folder, "none/.webhook-trigger")])
      expect(yield* send("true")).toMatchObject(failed("belongs to another user"))
    })
  )

  behaviour(
    "starts with the end of an agent that a crash has left at work there",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const left = spawn("sleep", ["600"], { detached: true, stdio: "ignore" })
      yield* Effect.addFinalizer(() => Effect.sync(() => left.kill("SIGKILL")))
      const programs = join(folder, ".webhook-trigger/programs")
      mkdirSync(programs, { recursive: true })
      const server = { pid: 2 ** 22, born: bornAt(process.pid).replace(/\d+$/, "1") }
      writeFileSync(join(programs, `${left.pid}`), JSON.stringify({ born: bornAt(left.pid!), server }))
      yield* leading({ folder }, {})
      expect(bornAt(left.pid!)).toBe("")
    })
  )

  behaviour(
    "waits while another team's agent works in it, and says whose",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      execFileSync("git", ["init", "--quiet", folder])
      const gate = join(folder, "go")
      const other = yield* Effect.forkScoped(
        onBusOfItsOwn(
          Effect.gen(function* () {
            const { send } = yield* leading({ folder }, { team: TeamName.make("other") })
            return yield* send("touch began; until test -e go; do sleep 0.02; done; rm began")
          })
        )
      )
      yield* untilEffect(
        "the other works",
        Effect.sync(() => existsSync(join(folder, "began")))
      )
      const { activities, end, publish } = yield* leading({ folder }, {})
      yield* publish("ls; git status --short")
      yield* untilEffect(
        "it waits",
        Effect.sync(() =>
          activities.some((activity) => /Waiting for the folder: used by run \S+ of the team other/.test(activity))
        )
      )
      writeFileSync(gate, "")
      expect(yield* Fiber.join(other)).toMatchObject({ _tag: "Answered" })
      expect(yield* end).toMatchObject(response("go\n?? go"))
    })
  )
})
