/** The web UI: files that the build has made, held in memory and compressed beforehand. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Layer } from "effect"
import { pages } from "../api/Pages.ts"
import * as MethodNotAllowed from "./MethodNotAllowed.ts"

/** Nothing from elsewhere, no script or style but those of the build, and nobody may put the UI into a frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'"
].join("; ")

const headers = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin"
}

const types: { readonly [ending: string]: string } = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml"
}

/** Where the build puts them, seen from the built server and from its sources. */
const folder = ["../ui/", "../../dist/ui/"]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(`${path}.vite/manifest.json`))

const codings = [
  ["br", ".br"],
  ["gzip", ".gz"]
] as const

interface Variant {
  readonly coding: string | undefined
  readonly response: HttpServerResponse.HttpServerResponse
}

/** A file as it goes out, in every coding there is of it. */
const variants = (path: string, name: string, lasting: boolean): ReadonlyArray<Variant> => {
  const plain = readFileSync(path)
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`
  const make = (coding: string | undefined, content: Uint8Array): Variant => ({
    coding,
    response: HttpServerResponse.uint8Array(content, {
      contentType: types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
      headers: {
        ...headers,
        // A name with a hash in it never changes its content; the page that names it must be asked for anew.
        "cache-control": lasting ? "public, max-age=31536000, immutable" : "no-cache",
        vary: "accept-encoding",
        etag: coding === undefined ? etag : etag.replace(/"$/, `-${coding}"`),
        ...(coding !== undefined && { "content-encoding": coding })
      }
    })
  })
  return [
    ...codings.flatMap(([coding, ending]) =>
      existsSync(path + ending) ? make(coding, readFileSync(path + ending)) : []
    ),
    make(undefined, plain)
  ]
}

/** The first coding that the browser takes; 304 when it has this very content. */
const serve = (all: ReadonlyArray<Variant>) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const accepted = (headers["accept-encoding"] ?? "").split(",").map((part) => part.split(";")[0]!.trim())
    const { response } = all.find(({ coding }) => coding === undefined || accepted.includes(coding))!
    const known = (headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim())
    return known.includes(response.headers.etag!)
      ? HttpServerResponse.empty({ status: 304, headers: response.headers })
      : response
  })

const make = Effect.gen(function* () {
  if (folder === undefined) return yield* Effect.logDebug("The web UI was not built, and is not served.")
  const router = yield* HttpLayerRouter.HttpRouter
  const index = serve(variants(`${folder}index.html`, "index.html", false))
  for (const page of Object.values(pages)) yield* router.add("GET", page, index)
  yield* router.add("GET", "/icon.svg", serve(variants(`${folder}icon.svg`, "icon.svg", false)))
  for (const name of readdirSync(`${folder}assets`)) {
    if (/\.(js|css|svg)$/.test(name)) {
      yield* router.add("GET", `/assets/${name}`, serve(variants(`${folder}assets/${name}`, name, true)))
    }
  }
})

const get = new Set(["GET"])

export const layer = Layer.merge(
  Layer.scopedDiscard(make),
  folder === undefined
    ? Layer.empty
    : MethodNotAllowed.layer(new Map(Object.values(pages).map((page) => [page, get] as const)))
)
