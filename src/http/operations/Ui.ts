/** The web UI: the files of its build, in memory, compressed at build time. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { pages } from "../../api/Pages.ts"
import { isExactly } from "../request/ExactPath.ts"
import { managementUrl, mountedAt } from "../request/PublicUrl.ts"
import { securityHeaders } from "../request/SecurityHeaders.ts"
import { below, pagesBelow, UiPath } from "../request/UiPath.ts"
import * as Unmatched from "../request/Unmatched.ts"

/** Only the build's scripts, styles and fonts, nothing from other servers, and no frames. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
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
  svg: "image/svg+xml",
  woff2: "font/woff2"
}

/**
 * The build's folder, relative to the built program, and to the library and the sources; none if the UI was not built.
 */
const findFolder = (): string | undefined =>
  ["../ui/", "../../../dist/ui/"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(`${path}.vite/manifest.json`))

interface Variant {
  readonly encoding: "br" | "gzip" | undefined
  readonly response: HttpServerResponse.HttpServerResponse
}

/** A file's content in each encoding, the smallest first and as it is last. */
type Contents = ReadonlyArray<readonly [encoding: Variant["encoding"], content: Uint8Array]>

/** The responses for a file, one for each encoding. */
const variantsOf = (name: string, contents: Contents, immutable: boolean): ReadonlyArray<Variant> => {
  const [, plain] = contents.at(-1)!
  const etag = createHash("sha256").update(plain).digest("base64url").slice(0, 22)
  return contents.map(([encoding, content]) => ({
    encoding,
    response: HttpServerResponse.uint8Array(content, {
      contentType: contentTypes[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
      headers: {
        ...headers,
        // A file with a hash in its name never changes. The page that refers to it is revalidated.
        "cache-control": immutable ? "public, max-age=31536000, immutable" : "no-cache",
        vary: "accept-encoding",
        etag: encoding === undefined ? `"${etag}"` : `"${etag}-${encoding}"`,
        ...(encoding !== undefined && { "content-encoding": encoding })
      }
    })
  }))
}

/** A file with the encodings that the build made. */
const read = (path: string): Contents => [
  ...(existsSync(`${path}.br`) ? ([["br", readFileSync(`${path}.br`)]] as const) : []),
  ...(existsSync(`${path}.gz`) ? ([["gzip", readFileSync(`${path}.gz`)]] as const) : []),
  [undefined, readFileSync(path)]
]

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

/** The document of every page. The build's addresses in it are relative; a page may be several folders down. */
const indexOf = (folder: string, uiPath: string, mount: string): ReadonlyArray<Variant> => {
  const path = mount + uiPath
  const text = readFileSync(`${folder}index.html`, "utf8")
    .replaceAll(/(src|href)="\.\//g, `$1="${path}/`)
    .replace('data-path=""', `data-path="${path}"`)
    .replace('data-mount=""', `data-mount="${mount}"`)
  const plain = Buffer.from(text)
  const contents: Contents = [
    ["br", brotliCompressSync(plain)],
    ["gzip", gzipSync(plain)],
    [undefined, plain]
  ]
  return variantsOf("index.html", contents, false)
}

/** Where browsers find the server. Its own paths do not contain that (`withoutMount`). */
const mounted = Effect.map(managementUrl, mountedAt)

/** Like the router's answer for an unknown path, which its types do not show: for other spellings of a path. */
const unknown = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.fail(
    new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) })
  ) as Effect.Effect<never>

const addFiles = Effect.fn(function* (folder: string, path: string, mount: string) {
  const router = yield* HttpRouter.HttpRouter
  const add = (address: `/${string}`, variants: ReadonlyArray<Variant>, alias: string = address) =>
    router.add(
      "GET",
      address,
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        isExactly(address, request.url) || isExactly(alias, request.url) ? serve(variants) : unknown(request)
      )
    )
  const index = indexOf(folder, path, mount)
  for (const page of pagesBelow(path)) {
    // People type the address of the home page without the slash at its end.
    yield* add(page, index, page === below(path, pages.home) && path !== "" ? path : page)
  }
  yield* add(below(path, "/icon.svg"), variantsOf("icon.svg", read(`${folder}icon.svg`), false))
  for (const name of readdirSync(`${folder}assets`)) {
    if (/\.(js|css|svg|woff2)$/.test(name)) {
      yield* add(below(path, `/assets/${name}`), variantsOf(name, read(`${folder}assets/${name}`), true))
    }
  }
})

export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter> = Layer.unwrap(
  Effect.gen(function* () {
    const path = yield* UiPath
    if (Option.isNone(path)) return Layer.empty
    const folder = findFolder()
    return folder === undefined
      ? Layer.effectDiscard(Effect.logDebug("The web UI was not built, and is not served."))
      : Layer.merge(
          Layer.effectDiscard(addFiles(folder, path.value, yield* mounted)),
          Unmatched.methodNotAllowed(Unmatched.onlyGet(pagesBelow(path.value)))
        )
  })
)

/** For a server of its own. For people, the UI shows that the page does not exist; programs get a problem. */
export const notFound: Layer.Layer<never, never, HttpRouter.HttpRouter> = Layer.unwrap(
  Effect.map(Effect.all([UiPath, mounted]), ([path, mount]) => {
    const folder = findFolder()
    if (folder === undefined || Option.isNone(path)) return Unmatched.notFound()
    const index = indexOf(folder, path.value, mount)
    return Unmatched.notFound((request) => HttpServerResponse.setStatus(chosen(index, request), 404))
  })
)
