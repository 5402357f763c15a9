import { Effect, Exit, Scope } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import * as Program from "../../cli/Program.ts"
import { sharedBrowser } from "../../support/Chromium.ts"
import { errorsOf, eventually, pagesOf } from "../TestUi.ts"

const scope = Effect.runSync(Scope.make())
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

describe("the link that a start on the embedded database prints", () => {
  it("signs in once, and is not kept in the address", async () => {
    const start = Effect.flatMap(Program.newFolder, (DATA_DIR) => Program.serve({ DATA_DIR }))
    const server = await Effect.runPromise(Scope.provide(start, scope))
    const [, link] = /Sign in +(\S+#who_\w+)/.exec(server.welcome())!
    const { close, newPage } = pagesOf(await sharedBrowser(), server.url)

    const first = await newPage()
    await first.goto(link!)
    await first.getByRole("link", { name: "Webhooks" }).first().waitFor()
    expect(first.url()).toBe(`${server.url}/`)
    expect(errorsOf(first)).toEqual([])

    const second = await newPage()
    await second.goto(link!)
    await eventually(() => second.getByRole("main").innerText()).toMatch(/This link has been used or is too old/)
    expect(second.url()).toBe(`${server.url}/sign-in`)
    await close()
  })
})
