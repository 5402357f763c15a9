/** The pages name every endpoint and every code of the API, and none that does not exist. */
import { readdirSync, readFileSync } from "node:fs"
import { HttpApi } from "effect/http-api"
import { expect, it } from "vitest"
import { Api } from "../../src/api/Api.ts"
import { callbackPath, signInPath } from "../../src/api/access/SignIn.ts"
import { titles } from "../../src/api/ProblemTitles.ts"
import { makeDocument } from "../../src/http/operations/OpenApi.ts"

const folder = new URL("../../docs/", import.meta.url)

const { paths } = makeDocument()

interface Endpoint {
  readonly method: string
  /** With parameters as in the other pages: `/api/teams/:team`. */
  readonly path: string
}

const endpoints: ReadonlyArray<Endpoint> = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({
    method: method.toUpperCase(),
    path: path.replaceAll(/\{(\w+)\}/g, ":$1")
  }))
)

/** A parameter has other names in other pages. */
const nameOf = (method: string, path: string): string => `${method} ${path.replaceAll(/:\w+/g, ":")}`

/** OpenAPI leaves out those of the web UI, and those outside of the API. */
const others: Array<string> = [
  ...["GET /health/live", "GET /health/ready", "GET /metrics", "GET /openapi.json", "GET /docs"],
  ...["GET /api/events", `GET ${signInPath}`, `GET ${callbackPath}`]
]
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint: { method, path } }) => others.push(nameOf(method, path))
})

const pages = readdirSync(folder, { encoding: "utf8", recursive: true })
  .filter((name) => name.endsWith(".md"))
  .map((name) => [name, readFileSync(new URL(name, folder), "utf8")] as const)

/** `POST /api/runs/:id/replay`, or `POST …/replay` for the end of a path. */
const mentioned = /`(?:GET|POST|PUT|PATCH|DELETE)(?:`, `(?:GET|POST|PUT|PATCH|DELETE))* (?:\/|…\/)[^`]*`/g

it("no page names an endpoint that does not exist", () => {
  const known = [...endpoints.map(({ method, path }) => nameOf(method, path)), ...others]
  const exists = (method: string, path: string) => {
    const name = nameOf(method, path.replace(/^…/, ""))
    const [, end] = name.split(" ")
    return path.startsWith("…")
      ? known.some((each) => each.startsWith(`${method} `) && each.endsWith(end!))
      : known.includes(name)
  }
  const found = pages.flatMap(([name, text]) =>
    [...text.matchAll(mentioned)].flatMap(([code]) => {
      const [, path] = /((?:\/|…\/)[^\s`?[&]*)/.exec(code)!
      return [...code.matchAll(/\b(GET|POST|PUT|PATCH|DELETE)\b/g)].map(([method]) => ({
        name,
        method: method!,
        path: path!
      }))
    })
  )
  expect(found.length).toBeGreaterThan(80)
  const unknown = found.filter(({ method, path }) => !exists(method, path))
  expect(unknown.map(({ name, method, path }) => `${name}: ${method} ${path}`)).toEqual([])
})

it("every endpoint is explained by a page: its path, or the end of it below another", () => {
  const text = pages.map(([, text]) => text).join("\n")
  const written = [...text.matchAll(/(?:\/|…\/)[a-z][\w/:.…-]*/g)].map(([path]) =>
    nameOf("", path!.replace(/^…/, "")).trim()
  )
  const explains = (path: string) => {
    const name = nameOf("", path).trim()
    // Those of alert destinations are “as above”.
    const above = name.replace("/api/alerts/", "/api/webhooks/:/")
    return written.some(
      (each) => name === each || above === each || (each.startsWith("/") && each !== "/" && above.endsWith(each))
    )
  }
  expect(endpoints.filter(({ path }) => !explains(path)).map(({ method, path }) => `${method} ${path}`)).toEqual([])
})

it("the pages name every code", () => {
  const text = pages.map(([, text]) => text).join("\n")
  expect(Object.keys(titles).filter((code) => !text.includes(`\`${code}\``))).toEqual([])
})

it("a code that a page gives with its status exists", () => {
  const text = pages.map(([, text]) => text).join("\n")
  const given = [...text.matchAll(/\b[45]\d\d(?:, `[^`]*`)?(?: \| | )`([a-z]+(?:_[a-z]+)+)`/g)].map(([, code]) => code!)
  expect(given.length).toBeGreaterThan(20)
  expect(given.filter((code) => !Object.hasOwn(titles, code))).toEqual([])
})
