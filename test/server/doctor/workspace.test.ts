import { createServer } from "node:net"
import { join } from "node:path"
import { Duration, Effect } from "effect"
import { examineWorkspace } from "../../../src/server/doctor/WorkspaceChecks.ts"
import { copiesOf, repository } from "../../leader/workspace/Repositories.ts"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"

/** An address at which nobody answers. */
const silent = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly port: number; readonly close: () => void }>((resolve) => {
        const server = createServer(() => {})
        server.listen(0, "127.0.0.1", () =>
          resolve({ port: (server.address() as { port: number }).port, close: () => server.close() })
        )
      })
  ),
  ({ close }) => Effect.sync(close)
)

const results = (...all: ReadonlyArray<string>) => all.map((result) => expect.objectContaining({ result }))

describe("the check of a workspace", () => {
  it.live("says that git, the repository and the folder are there", function* () {
    const { url } = yield* repository
    const { checks, help } = yield* examineWorkspace(copiesOf(url))
    expect(checks).toEqual(results("yes", "yes", "yes"))
    expect(help).toBeUndefined()
    expect((yield* examineWorkspace({ folder: yield* temporaryFolder })).checks).toEqual(results("yes"))
  })

  it.live("says what cannot be read, without the password, and what to do", function* () {
    const { port } = yield* silent
    const url = `http://ada:secret@127.0.0.1:${port}/shop.git`
    const late = yield* examineWorkspace(copiesOf(url), Duration.millis(100))
    expect(late.checks).toEqual(results("yes", "no", "unknown"))
    expect(late.checks[1]?.detail).toBe("no answer within 100ms")
    expect(late.help).toContain("credential helper")
    const missing = yield* examineWorkspace(copiesOf("file://ada:secret@/nowhere/shop.git"))
    expect(missing.checks).toEqual(results("yes", "no", "unknown"))
    expect(JSON.stringify(missing)).not.toContain("secret")
    const folder = yield* examineWorkspace({ folder: join(yield* temporaryFolder, "none") })
    expect(folder.checks).toEqual(results("no"))
    expect(folder.help).toContain("Create the folder")
  })

  it.live("says that git is missing", function* () {
    const { PATH } = process.env
    process.env.PATH = "/nowhere"
    yield* Effect.addFinalizer(() => Effect.sync(() => (process.env.PATH = PATH)))
    const { checks, help } = yield* examineWorkspace(copiesOf("/shop.git"))
    expect(checks).toEqual(results("no", "unknown", "unknown"))
    expect(help).toBe("Install git where the leader runs.")
  })
})
