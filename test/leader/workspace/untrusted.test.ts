import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { SystemUser } from "../../../src/leader/index.ts"
import { temporaryFolder } from "../../support/private.ts"
import { behaviour, folderInPath } from "../agents/Leading.ts"
import { copiesOf, failed, inThread, leading, repository, response, withFileSubmodules } from "./Repositories.ts"

describe("a leader with a repository", () => {
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
})
