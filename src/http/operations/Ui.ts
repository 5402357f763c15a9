/** The web UI: the files of its build, in memory, compressed at build time. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { HttpLayerRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Layer } from "effect"
import { pages } from "../../api/Pages.ts"
import { isExactly } from "../request/ExactPath.ts"
import { securityHeaders } from "../request/SecurityHeaders.ts"
import * as Unmatched from "../request/Unmatched.ts"

/** Only the build's scripts and styles, nothing from other servers, and no frames. */
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
  ...securityHeaders,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin"
}

const contentTypes: { readonly [extension: string]: string } = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml"
}

/**
 * The build's folder, relative to the built program, and to the library and the sources; none if the UI was not built.
 */
const findFolder = (): string | undefined =>
  ["../ui/", "../../../dist/ui/"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(`${path}.vite/manifest.json`))

const encodings = [
  ["br", ".br"],
  ["gzip", ".gz"]
] as const

interface Variant {
  readonly encoding: string | undefined
  readonly response: HttpServerResponse.HttpServerResponse
}

/** The responses for a file, one for each encoding that the build made. */
const variantsOf = (path: string, name: string, immutable: boolean): ReadonlyArray<Variant> => {
  const plain = readFileSync(path)
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`
  const variant = (encoding: string | undefined, content: Uint8Array): Variant => ({
    encoding,
    response: HttpServerResponse.uint8Array(content, {
      contentType: contentTypes[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
      headers: {
        ...headers,
        // A file with a hash in its name never changes. The page that refers to it is revalidated.
        "cache-control": immutable ? "public, max-age=31536000, immutable" : "no-cache",
        vary: "accept-encoding",
        etag: encoding === undefined ? etag : etag.replace(/"$/, `-${encoding}"`),
        ...(encoding !== undefined && { "content-encoding": encoding })
      }
    })
  })
  return [
    ...encodings.flatMap(([encoding, suffix]) =>
      existsSync(path + suffix) ? variant(encoding, readFileSync(path + suffix)) : []
    ),
    variant(undefined, plain)
  ]
}

/** The encodings that the request accepts. Weight 0 refuses one (RFC 9110, 12.5.3). */
const acceptedEncodings = (header: string): ReadonlyArray<string> =>
  header
    .toLowerCase()
    .split(",")
    .map((part) => part.split(";").map((text) => text.trim()))
    .filter(([, weight]) => weight === undefined || !/^q=0(\.0*)?$/.test(weight))
    .map(([encoding]) => encoding!)

/** A proxy that compresses marks the tags as weak, which does not matter here (RFC 9110, 13.1.2). */
const tagsIn = (header: string): ReadonlyArray<string> => header.split(",").map((tag) => tag.trim().replace(/^W\//, ""))

/** The first encoding that the browser accepts. */
const chosen = (variants: ReadonlyArray<Variant>, { headers }: HttpServerRequest.HttpServerRequest) => {
  const accepted = acceptedEncodings(headers["accept-encoding"] ?? "")
  return variants.find(({ encoding }) => encoding === undefined || accepted.includes(encoding))!.response
}

/** 304 when the browser already has this content. */
const serve = (variants: ReadonlyArray<Variant>) =>
  Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    const { headers } = request
    const response = chosen(variants, request)
    return tagsIn(headers["if-none-match"] ?? "").includes(response.headers.etag!)
      ? HttpServerResponse.empty({ status: 304, headers: response.headers })
      : response
  })

const indexOf = (folder: string) => variantsOf(`${folder}index.html`, "index.html", false)

/** Like the router's answer for an unknown path, which its types do not show: for other spellings of a path. */
const unknown = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.fail(new HttpServerError.RouteNotFound({ request })) as Effect.Effect<never>

const addFiles = Effect.fn(function* (folder: string) {
  const router = yield* HttpLayerRouter.HttpRouter
  const add = (path: `/${string}`, variants: ReadonlyArray<Variant>) =>
    router.add(
      "GET",
      path,
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        isExactly(path, request.url) ? serve(variants) : unknown(request)
      )
    )
  const index = indexOf(folder)
  for (const page of Object.values(pages)) yield* add(page, index)
  yield* add("/icon.svg", variantsOf(`${folder}icon.svg`, "icon.svg", false))
  for (const name of readdirSync(`${folder}assets`)) {
    if (/\.(js|css|svg)$/.test(name)) {
      yield* add(`/assets/${name}`, variantsOf(`${folder}assets/${name}`, name, true))
    }
  }
})

export const layer: Layer.Layer<never, never, HttpLayerRouter.HttpRouter> = Layer.suspend(() => {
  const folder = findFolder()
  return folder === undefined
    ? Layer.effectDiscard(Effect.logDebug("The web UI was not built, and is not served."))
    : Layer.merge(
        Layer.scopedDiscard(addFiles(folder)),
        Unmatched.methodNotAllowed(Unmatched.onlyGet(Object.values(pages)))
      )
})

/** For a server of its own. For people, the UI shows that the page does not exist; programs get a problem. */
export const notFound: Layer.Layer<never, never, HttpLayerRouter.HttpRouter> = Layer.suspend(() => {
  const folder = findFolder()
  if (folder === undefined) return Unmatched.notFound()
  const index = indexOf(folder)
  return Unmatched.notFound((request) => HttpServerResponse.setStatus(chosen(index, request), 404))
})
