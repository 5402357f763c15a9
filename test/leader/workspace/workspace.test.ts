import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { AgentReport } from "../../../src/domain/run/AgentReport.ts"
import { team } from "../../bus/contract/support.ts"
import { temporaryFolder } from "../../support/private.ts"
import { untilEffect } from "../../support/Until.ts"
import { behaviour, folderInPath, onBusOfItsOwn } from "../agents/Leading.ts"
import { copiesOf, failed, inThread, leading, repository, response, withFileSubmodules } from "./Repositories.ts"

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
      const exact = yield* send("echo never", {
        ...inThread(1),
        agent: { workspace_ref: next, workspace_exact: true }
      })
      expect(exact).toMatchObject({
        _tag: "Failed",
        message: expect.stringMatching(/approved for one commit.*has uncommitted changes/)
      })
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
    "clones a damaged mirror anew, once, and says so, and conversations go on in their folders",
    Effect.gen(function* () {
      const { commit, first, git, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const { activities, send } = yield* leading(copiesOf(url), { workspaces })
      const gone = commit("gone", { "gone.txt": "gone\n" })
      yield* send("echo mine > mine.txt", inThread(1, "gone"))
      git("checkout", "--quiet", "main")
      git("branch", "--quiet", "-D", "gone")
      const mirrors = join(workspaces, "mirrors")
      const [mirror = ""] = readdirSync(mirrors)
      const empty = (mirror: string, sha: string) => {
        const object = join(mirrors, mirror, "objects", sha.slice(0, 2), sha.slice(2))
        rmSync(object)
        writeFileSync(object, "")
      }
      const anew = expect.stringMatching(/^The mirror of the repository was damaged .* so it was cloned anew\.$/)
      const noteOf = (reply: unknown) => (reply as { readonly report?: AgentReport }).report?.workspace?.note
      // Git needs it to fetch.
      empty(mirror, first)
      const one = yield* send("cat readme.md", inThread(2))
      expect(one).toMatchObject({ ...response("first"), report: { workspace: { base: first, note: anew } } })
      expect(activities).toContainEqual(anew)
      // Only the damaged mirror has its last commit, and only the new one the first.
      const two = yield* send("cat mine.txt; git log --format=%H", inThread(1))
      expect(two).toMatchObject({
        ...response(`mine\n${gone}\n${first}`),
        report: { workspace: { base: gone, files: 1 } }
      })
      expect(noteOf(two)).toBeUndefined()
      // And this only to check it out.
      empty(`${mirror}.1`, git("rev-parse", `${first}:readme.md`))
      const three = yield* send("cat readme.md", inThread(3))
      expect(three).toMatchObject({ ...response("first"), report: { workspace: { base: first, note: anew } } })
      expect(readdirSync(mirrors).sort()).toEqual([mirror, `${mirror}.1`, `${mirror}.2`])
    })
  )

  behaviour(
    "says when the folder of a conversation is made anew, because its .git was removed",
    Effect.gen(function* () {
      const { commit, url } = yield* repository
      const workspaces = yield* temporaryFolder
      const { activities, send } = yield* leading(copiesOf(url), { workspaces })
      yield* send("echo mine > mine.txt; rm -rf .git", inThread(1))
      commit("main", { "readme.md": "second\n" })
      const note = expect.stringContaining("because its .git was removed")
      // At the conversation's commit, as without the loss.
      const reply = yield* send("ls; cat readme.md", inThread(1))
      expect(reply).toMatchObject({ ...response("readme.md\nfirst"), report: { workspace: { note } } })
      expect(activities).toContainEqual(note)
      expect(yield* send("true", inThread(1))).not.toHaveProperty("report.workspace.note")
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
})
