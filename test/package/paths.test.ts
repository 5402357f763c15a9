/** The paths that the routes take of a host's server, as the guide lists them. */
import { readFileSync } from "node:fs"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { describe, expect, it } from "vitest"
import { UiPath } from "../../src/http/request/UiPath.ts"
import * as Routes from "../../src/http/serve/Routes.ts"
import { services } from "../http/Server.ts"

const { trigger, management, operations, ui } = Routes
const parts = { trigger, management, operations, ui }

type Part = keyof typeof parts

/** The paths of a part's routes. */
const pathsOf = (part: Part, uiPath: Layer.Layer<never> = Layer.empty): Promise<ReadonlySet<string>> => {
  const paths = new Set<string>()
  const recorded = Layer.effect(
    HttpRouter.HttpRouter,
    Effect.map(
      HttpRouter.HttpRouter,
      (router) =>
        new Proxy(router, {
          get:
            (target, key) =>
            (...given: ReadonlyArray<any>) => {
              if (key === "add") paths.add(given[1])
              if (key === "addAll") for (const { path } of given[0]) paths.add(path)
              return Reflect.get(target, key)(...given)
            }
        })
    )
  )
  return HttpRouter.toHttpEffect(Layer.provide(parts[part] as Layer.Layer<never>, recorded)).pipe(
    Effect.provide(Layer.mergeAll(services(), HttpServer.layerServices, uiPath)),
    Effect.scoped,
    Effect.as(paths),
    Effect.runPromise
  )
}

/** A path of the guide: `/api/…` and `/webhooks…` have others below them. */
const covers = (listed: string, path: string): boolean => {
  if (!listed.endsWith("…")) return path === listed
  const root = listed.replace(/\/?…$/, "")
  return path === root || path.startsWith(`${root}/`)
}

const guide = readFileSync(new URL("../../docs/internals/embedding.md", import.meta.url), "utf8")

describe("the guide", () => {
  for (const part of Object.keys(parts) as ReadonlyArray<Part>) {
    const row = guide.split("\n").find((line) => line.startsWith(`| \`Routes.${part}\``))!
    const listed = [...row.split(" | ")[1]!.matchAll(/`(\/[^`]*)`/g)].map(([, path]) => path!)

    it(`lists exactly the paths that Routes.${part} takes`, async () => {
      const paths = [...(await pathsOf(part))]
      expect(paths.filter((path) => !listed.some((each) => covers(each, path)))).toEqual([])
      expect(listed.filter((each) => !paths.some((path) => covers(each, path)))).toEqual([])
    })
  }

  it("says that the UI, with another path, takes nothing outside of it", async () => {
    const elsewhere = UiPath.layer("/admin/webhooks")
    const pages = await pathsOf("ui", elsewhere)
    expect(pages.size).toBeGreaterThan(20)
    expect([...pages].filter((path) => !path.startsWith("/admin/webhooks/"))).toEqual([])
    expect([...(await pathsOf("management", elsewhere))].filter((path) => path.includes("sign-in"))).toEqual([
      "/admin/webhooks/sign-in/provider",
      "/admin/webhooks/sign-in/callback"
    ])
  })
})
