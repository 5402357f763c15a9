import { execFileSync, spawn } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { describe, expect } from "@effect/vitest"
import { Duration, Effect, Fiber, Logger, LogLevel } from "effect"
import type { AgentReport } from "../../../src/domain/run/AgentReport.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { SystemUser } from "../../../src/leader/index.ts"
import { bornAt } from "../../../src/runtime/Processes.ts"
import { team } from "../../bus/contract/support.ts"
import { untilEffect } from "../../support/Until.ts"
import { behaviour, folderInPath, onBusOfItsOwn } from "../agents/Leading.ts"
import { copiesOf, foldersOf, inThread, leading, repository, temporaryFolder } from "./Repositories.ts"

const response = (text: string) => ({ _tag: "Answered", response: text })
const failed = (message: string) => ({ _tag: "Failed", message: expect.stringContaining(message) })

/** Git refuses submodules that are paths, unless it is told. */
const withFileSubmodules = Effect.gen(function* () {
  process.env.GIT_CONFIG_COUNT = "1"
  process.env.GIT_CONFIG_KEY_0 = "protocol.file.allow"
  process.env.GIT_CONFIG_VALUE_0 = "always"
  yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env.GIT_CONFIG_COUNT))
})

const withoutPlaces = (folders: ReadonlyArray<string>) =>
  folders.map((folder) => folder.replace(/\.set-aside-.*$/, " aside")).sort()

describe("an agent with a repository", () => {
  behaviour(
    "works in a clean copy at the remote's HEAD, on a branch of the thread, and says what it changed",
    Effect.gen(function* () {
      const { first, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const { send } = yield* leading(copiesOf(url), { workspaces })
      const script =
        "cat readme.md; git branch --show-current; git remote get-url origin; echo one >> readme.md; echo new > new.txt"
      expect(yield* send(script, inThread(1))).toMatchObject({
        ...response(`first\nwebhook/${inThread(1).thread!.id}\n${url}`),
        report: { workspace: { base: first, head: first, files: 2, insertions: 2, deletions: 0 } }
      })
    })
  )

  behaviour(
    "goes on with the work of its thread in the same folder, and follows the ref of each prompt",
    Effect.gen(function* () {
      const { commit, first, git, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const { send } = yield* leading(copiesOf(url), { workspaces })
      const head = commit("feature", { "feature.txt": "one\n" })
      const where = "pwd; git rev-parse HEAD; ls"
      const one = yield* send(where, inThread(1, "feature"))
      expect(one).toMatchObject({ response: expect.stringContaining(`${head}\nfeature.txt`) })
      const folder = (one as { response: string }).response.split("\n")[0]
      // A new commit is followed, also without a common history, as files that git does not know stay.
      yield* send("echo kept > untracked.txt", inThread(1, "feature"))
      const next = commit("feature", { "feature.txt": "two\n" })
      expect(yield* send(where, inThread(1, "feature"))).toMatchObject(
        response(`${folder}\n${next}\nfeature.txt\nreadme.md\nuntracked.txt`)
      )
      git("checkout", "--quiet", "--orphan", "other")
      const orphan = commit("other", { "other.txt": "other\n" })
      git("update-ref", "refs/pull/5/head", orphan)
      git("update-ref", "-d", "refs/heads/other")
      expect(yield* send("git rev-parse HEAD", inThread(1, "refs/pull/5/head"))).toMatchObject(response(orphan))
      expect(yield* send("git rev-parse HEAD", inThread(1, first))).toMatchObject(response(first))
      // Work that is not committed, or not in the new commit, is kept.
      yield* send("echo mine >> readme.md", inThread(1, first))
      const stays = yield* send("tail -1 readme.md; git rev-parse HEAD", inThread(1, next))
      expect(stays).toMatchObject({
        ...response(`mine\n${first}`),
        report: { workspace: { base: first, note: expect.stringContaining("has uncommitted changes") } }
      })
      yield* send("git -c user.name=A -c user.email=a@b.example commit -qam mine", inThread(1, first))
      expect(yield* send("tail -1 readme.md", inThread(1, next))).toMatchObject({
        ...response("mine"),
        report: {
          workspace: { base: first, files: 2, insertions: 2, note: expect.stringContaining("has commits of its own") }
        }
      })
    })
  )

  behaviour(
    "fetches a commit that no branch has, and refuses refs that do not exist or are none",
    Effect.gen(function* () {
      const { commit, git, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const { send } = yield* leading(copiesOf(url), { workspaces })
      const lost = commit("gone", { "gone.txt": "gone\n" })
      git("checkout", "--quiet", "main")
      git("branch", "--quiet", "-D", "gone")
      git("update-ref", "refs/hidden/gone", lost)
      expect(yield* send("cat gone.txt", inThread(1, lost))).toMatchObject(response("gone"))
      for (const ref of ["no-such-branch", "refs/pull/6/head", "0".repeat(40)]) {
        expect(yield* send("true", inThread(2, ref))).toMatchObject(failed(`The ref "${ref}" is not in the repository`))
      }
      for (const ref of ["--upload-pack=touch x", "-f", "main:other", "main~1", "a..b", "", "refs/../x", "a b"]) {
        expect(yield* send("true", inThread(2, ref))).toMatchObject(failed("is not a valid name"))
      }
      expect(existsSync(join(workspaces, "mirrors/x"))).toBe(false)
    })
  )

  behaviour(
    "copies the operator's files in and runs the setup after each checkout, and nothing of it is a change",
    Effect.gen(function* () {
      const { commit, url } = yield* repository
      const [folder, workspaces] = [yield* temporaryFolder, yield* temporaryFolder]
      mkdirSync(join(folder, "config"))
      writeFileSync(join(folder, "config/.env.test"), "KEY=1\n")
      const setup = "cat config/.env.test readme.md >> .git/setups; echo $WEBHOOK_TEAM >> .git/setups"
      const { send } = yield* leading(copiesOf(url, { include: ["config/.env.test"], setup }), { folder, workspaces })
      const unchanged = { report: { workspace: { files: 0 } } }
      expect(yield* send("cat .git/setups; git status --short", inThread(1))).toMatchObject({
        ...response("KEY=1\nfirst\ndeploy"),
        ...unchanged
      })
      expect(yield* send("wc -l < .git/setups", inThread(1))).toMatchObject(response("3"))
      commit("main", { "readme.md": "second\n" })
      expect(yield* send("cat readme.md", inThread(1))).toMatchObject(response("first"))
      expect(yield* send("tail -3 .git/setups", inThread(1, "main"))).toMatchObject(response("KEY=1\nsecond\ndeploy"))
    })
  )

  behaviour(
    "fails a run whose setup fails, takes too long or finds a link in the way, and makes the folder anew for the next",
    Effect.gen(function* () {
      const { commit, url } = yield* repository
      const [folder, workspaces] = [yield* temporaryFolder, yield* temporaryFolder]
      writeFileSync(join(folder, "key"), "secret")
      const setup = "touch made; cat readme.md | grep -q first || { echo no such package; exit 3; }"
      const { send } = yield* leading(copiesOf(url, { include: ["key"], setup }), { folder, workspaces })
      commit("broken", { "readme.md": "broken\n" })
      expect(yield* send("true", inThread(1, "broken"))).toMatchObject(
        failed("The command of `--workspace-setup` failed with exit code 3: no such package")
      )
      expect(yield* send("ls", inThread(1, "main"))).toMatchObject(response("key\nmade\nreadme.md"))
      expect(yield* send("true", inThread(1, "broken"))).toMatchObject(failed("exit code 3"))
      expect(yield* send("cat readme.md", inThread(1, "main"))).toMatchObject(response("first"))

      const { git, folder: source } = yield* repository
      symlinkSync(join(workspaces, "stolen"), join(source, "key"))
      git("add", "--all")
      git("commit", "--quiet", "--message", "A link")
      const slow = copiesOf(`file://${source}`, { setup: "sleep 600", setupTimeout: Duration.millis(100) })
      yield* onBusOfItsOwn(
        Effect.gen(function* () {
          const late = yield* leading(slow, { workspaces })
          expect(yield* late.send("true", inThread(2))).toMatchObject(failed("did not end within 100ms"))
        })
      )
      yield* onBusOfItsOwn(
        Effect.gen(function* () {
          const linked = yield* leading(copiesOf(`file://${source}`, { include: ["key"] }), { folder, workspaces })
          expect(yield* linked.send("true", inThread(3))).toMatchObject(failed("has a symbolic link there"))
        })
      )
      expect(existsSync(join(workspaces, "stolen"))).toBe(false)
    })
  )

  behaviour(
    "checks out submodules and large files if the operator says so",
    Effect.gen(function* () {
      const library = yield* repository
      const { git, url } = yield* repository
      const [workspaces, programs] = [yield* temporaryFolder, yield* folderInPath]
      writeFileSync(join(programs, "git-lfs"), '#!/bin/sh\necho "$@" >> large.txt\n', { mode: 0o755 })
      yield* withFileSubmodules
      git("submodule", "--quiet", "add", library.url, "library")
      git("commit", "--quiet", "--message", "Use the library")
      const plain = yield* leading(copiesOf(url), { workspaces })
      expect(yield* plain.send("ls library; ls large.txt 2>&1 | wc -l", inThread(1))).toMatchObject(response("1"))
      yield* onBusOfItsOwn(
        Effect.gen(function* () {
          const { send } = yield* leading(copiesOf(url, { submodules: true, lfs: true }), { workspaces })
          expect(yield* send("cat library/readme.md large.txt", inThread(2))).toMatchObject(response("first\npull"))
        })
      )
    })
  )

  behaviour(
    "pushes commits to the thread's branch only if the operator says so, and a failed push does not cost the answer",
    Effect.gen(function* () {
      const { git, url } = yield* repository
      const [workspaces] = [yield* temporaryFolder]
      const branch = `webhook/${inThread(1).thread!.id}`
      const change = "echo two >> readme.md; git -c user.name=A -c user.email=a@b.example commit -qam two; echo done"
      const quiet = yield* leading(copiesOf(url), { workspaces })
      expect(yield* quiet.send(change, inThread(2))).toMatchObject(response("done"))
      expect(git("branch", "--list", "webhook/*")).toBe("")
      yield* onBusOfItsOwn(
        Effect.gen(function* () {
          const { send } = yield* leading(copiesOf(url, { push: true }), { workspaces })
          const { report } = (yield* send(change, inThread(1))) as { report: AgentReport }
          expect(report.workspace).toMatchObject({ files: 1, insertions: 1, branch })
          expect(git("rev-parse", branch)).toBe(report.workspace?.head)
          // Nothing new to push.
          expect(yield* send("true", inThread(3))).not.toHaveProperty("report.workspace.branch")
          git("branch", "--force", branch, "main")
          git("commit", "--quiet", "--allow-empty", "--message", "Theirs")
          git("branch", "--force", branch, "main")
          expect(yield* send(change, inThread(1))).toMatchObject({
            ...response("done"),
            report: { workspace: { note: expect.stringContaining("was not pushed") } }
          })
        })
      )
    })
  )

  behaviour(
    "runs nothing with git that an agent has written to the copy's configuration",
    Effect.gen(function* () {
      const { commit, folder: source, git, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const ran = join(workspaces, "ran")
      const { send } = yield* leading(copiesOf(url, { push: true }), { workspaces })
      // A repository in the repository, whose files git would compare.
      git("update-index", "--add", "--cacheinfo", `160000,${git("rev-parse", "HEAD")},inner`)
      git("commit", "--quiet", "--message", "Use another repository")
      const program = `touch ${ran}; cat`
      const define = `git config filter.x.clean '${program}'; git config filter.x.smudge '${program}'; git config filter.x.required true`
      const evil = [
        `git clone -q ${source} inner; git -C inner checkout -q HEAD~; ${define}; git config core.sshCommand '${program}'`,
        "cp .git/config .git/config.worktree; git config extensions.worktreeConfig true",
        `echo '* filter=x' > .git/info/attributes; (cd inner; ${define}; echo '* filter=x' > .git/info/attributes)`,
        "touch readme.md inner/readme.md; mkdir -p shared; cp .git/config shared; echo ../shared > .git/commondir"
      ].join("; ")
      expect(yield* send(evil, inThread(1, "main"))).toMatchObject({ report: { workspace: { files: 1 } } })
      const next = commit("next", { "next.txt": "next\n" })
      expect(yield* send("rm -f .git/commondir; git rev-parse HEAD", inThread(1, "next"))).toMatchObject(response(next))
      expect(existsSync(ran)).toBe(false)
      // Instead of .git, git could find the folder itself.
      const bare = `${define}; cp -R .git/. .; rm .git/HEAD; touch readme.md`
      expect(yield* send(bare, inThread(1, "next"))).toMatchObject({
        report: { workspace: { note: expect.stringContaining("not a git repository") } }
      })
      const replaced = `mkdir ../own; mv .git ../own; ln -s ../own/.git .git; ${define}; touch readme.md`
      expect(yield* send(replaced, inThread(2, "next"))).toMatchObject({
        report: { workspace: { note: expect.stringContaining("its .git was replaced") } }
      })
      expect(existsSync(ran)).toBe(false)
    })
  )

  behaviour(
    "runs nothing that an agent has written to submodules, whose copies follow the ref otherwise",
    Effect.gen(function* () {
      const [library, other] = [yield* repository, yield* repository]
      const { git, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const ran = join(workspaces, "ran")
      yield* withFileSubmodules
      git("submodule", "--quiet", "add", library.url, "library")
      git("commit", "--quiet", "--message", "Use the library")
      const { send } = yield* leading(copiesOf(url, { submodules: true }), { workspaces })
      const define = `git config filter.x.smudge 'touch ${ran}; cat'; git config core.sshCommand 'touch ${ran}'`
      const evil = "echo '* filter=x' > $(git rev-parse --absolute-git-dir)/info/attributes"
      const works = [
        "touch library/mine",
        `cd library; ${define}; ${evil}`,
        `git clone -q ${other.url} other; cd other; ${define}; ${evil}; git rm -q --cached .; rm readme.md`,
        `git clone -q --bare ${other.url} .git/modules/other; cd .git/modules/other; ${define}; ${evil}`,
        `cp -R library ../own; rm -rf library; ln -s ../own library; git update-index --assume-unchanged library`
      ]
      for (const [thread, work] of works.entries()) yield* send(work, inThread(thread, "main"))
      const next = library.commit("main", { "readme.md": "second\n" })
      git("-C", "library", "fetch", "--quiet")
      git("-C", "library", "checkout", "--quiet", next)
      git("submodule", "--quiet", "add", other.url, "other")
      git("add", "--all")
      git("commit", "--quiet", "--message", "Use more")
      const [mine, ...others] = yield* Effect.forEach(works.keys(), (thread) =>
        send("cat library/readme.md; ls library other", inThread(thread, "main"))
      )
      expect(mine).toMatchObject(response("second\nlibrary:\nmine\nreadme.md\n\nother:\nreadme.md"))
      const note = expect.stringMatching(/has other settings of submodules|has uncommitted changes/)
      for (const answer of others) expect(answer).toMatchObject({ report: { workspace: { note } } })
      expect(existsSync(ran)).toBe(false)
    })
  )

  behaviour(
    "says of a copy that was made without submodules why it stays",
    Effect.gen(function* () {
      const { commit, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const sendTo = (copies: ReturnType<typeof copiesOf>) =>
        onBusOfItsOwn(Effect.flatMap(leading(copies, { workspaces }), ({ send }) => send("true", inThread(1, "main"))))
      yield* sendTo(copiesOf(url))
      commit("main", { "readme.md": "second\n" })
      const note = expect.stringContaining("has no record of its submodules' settings at its start")
      expect(yield* sendTo(copiesOf(url, { submodules: true }))).toMatchObject({ report: { workspace: { note } } })
    })
  )

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
      yield* onBusOfItsOwn(Effect.zipRight(leading({ ...copies, keep: Duration.zero }, { workspaces }), only()))
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
        Effect.zipRight(leading(copiesOf(url, { disk: 5e6 }), place), only(`${one} aside`, inThread(3).thread!.id))
      )
      expect(foldersOf(workspaces)).not.toContain(two)
      yield* onBusOfItsOwn(
        Effect.zipRight(leading(copiesOf(url, { keep: Duration.zero }), place), only(`${one} aside`))
      )
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
      ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)), Logger.withMinimumLogLevel(LogLevel.Warning))
      const [aside = ""] = foldersOf(workspaces).filter((name) => name.includes(".set-aside-"))
      expect(lines.filter((line) => line.includes(aside))).toEqual([
        expect.stringContaining(`rm -rf '${join(workspaces, "folders/deploy", aside)}'`)
      ])
      yield* only(id, `${id} aside`)
      yield* onBusOfItsOwn(Effect.zipRight(leading(copiesOf(url, { disk: 2e6 }), place), only(`${id} aside`)))
      execFileSync("chown", ["-R", "nobody", join(workspaces, "folders/deploy", aside)])
      yield* onBusOfItsOwn(Effect.zipRight(leading(copiesOf(url), place), only()))
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
            Effect.zipRight(
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
    "runs git as the agent's user, without the leader's secrets, and never asks for a password",
    Effect.gen(function* () {
      const { folder, url } = yield* repository
      const [workspaces, programs] = [yield* temporaryFolder, yield* folderInPath]
      execFileSync("chown", ["-R", "nobody", folder])
      chmodSync(workspaces, 0o711)
      chmodSync(programs, 0o755)
      const real = execFileSync("sh", ["-c", "command -v git"], {
        encoding: "utf8",
        env: { PATH: "/usr/bin:/bin" }
      }).trim()
      const spy = join(workspaces, "spied")
      writeFileSync(spy, "", { mode: 0o666 })
      chmodSync(spy, 0o666)
      writeFileSync(
        join(programs, "git"),
        `#!/bin/sh\necho "$(id -un) $AMQP_URL $GIT_TERMINAL_PROMPT" >> ${spy}\nexec ${real} "$@"\n`,
        { mode: 0o755 }
      )
      process.env.AMQP_URL = "amqp://secret"
      yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env.AMQP_URL))
      const user = yield* SystemUser.find("nobody")
      const { send } = yield* leading(copiesOf(url), { workspaces, user })
      expect(yield* send("id -un; touch mine && stat -c %U readme.md mine", inThread(1))).toMatchObject(
        response("nobody\nnobody\nnobody")
      )
      expect(new Set(readFileSync(spy, "utf8").trim().split("\n"))).toEqual(new Set(["nobody  0"]))
      expect(yield* send("ls ../../../locks", inThread(1))).toMatchObject(failed("Permission denied"))
    })
  )

  behaviour(
    "reports what was changed until a run is cancelled, and leaves the folder to the thread's next run",
    Effect.gen(function* () {
      const { url } = yield* repository
      const workspaces = yield* temporaryFolder
      const { bus, end, publish, send } = yield* leading(copiesOf(url), { workspaces })
      const prompt = yield* publish("echo one > one; touch .git/works; sleep 600", inThread(1))
      yield* untilEffect(
        "the agent works",
        Effect.sync(() => existsSync(join(workspaces, "folders/deploy", inThread(1).thread!.id, ".git/works")))
      )
      yield* bus.cancel(team, prompt.run_id)
      expect(yield* end).toMatchObject({ _tag: "Failed", report: { workspace: { files: 1, insertions: 1 } } })
      expect(yield* send("cat one", inThread(1))).toMatchObject(response("one"))
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
