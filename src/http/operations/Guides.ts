/**
 * The guides that come with the package, as pages for people: `/docs/use/destinations.md` is `docs/use/destinations.md`, so
 * their links to each other need no change.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { posix } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { Marked, type Tokens } from "marked"
import { ifApiDocs } from "../access/OperationsAccess.ts"
import { below, UiPath } from "../request/UiPath.ts"
import { Html, html } from "./Html.ts"
import { hashOf, pageStyle } from "./PageStyle.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

/** Relative to the built program, and to the library and the sources; none if the docs were left out. */
const findFolder = (): string | undefined =>
  ["../../docs/", "../../../docs/"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(`${path}README.md`))

const style = `${pageStyle}
pre { background: var(--soft); padding: .8em 1em; overflow: auto; border-radius: .4em } pre code { padding: 0; background: none; overflow-wrap: normal }
th { text-align: left; padding: .4em .8em .4em 0 } .table { overflow-x: auto } img { max-width: 100%; height: auto }
`

const policy = `default-src 'none'; style-src ${hashOf(style)}; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** As GitHub makes it, so that a link to a heading works in both places. */
const idOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-")

/** `files`: the pages and pictures. What else a link leads to, such as the sources, is not served. */
const bodyOf = (markdown: string, page: string, files: ReadonlySet<string>): Html => {
  const isServed = (href: string): boolean =>
    /^(https?:|#)/.test(href) || files.has(posix.join(posix.dirname(page), href.replace(/#.*/, "")))
  const marked = new Marked({
    ...{ gfm: true, async: false },
    renderer: {
      heading({ depth, text, tokens }: Tokens.Heading): string | false {
        return `<h${depth} id="${idOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      // False: as usual.
      link({ href, tokens }: Tokens.Link): string | false {
        return isServed(href) ? false : this.parser.parseInline(tokens)
      },
      image: ({ href }: Tokens.Image): string | false => (isServed(href) ? false : "")
    }
  })
  return new Html(
    (marked.parse(markdown) as string)
      .replaceAll("<table>", '<div class="table" tabindex="0" role="group" aria-label="Table"><table>')
      .replaceAll("</table>", "</table></div>")
      // Some are wider than the page, and scrolled with the keyboard.
      .replaceAll("<pre>", '<pre tabindex="0">')
  )
}

const pageOf = (markdown: string, page: string, files: ReadonlySet<string>, uiPath: string | undefined): Html => {
  const [, title = page] = /^# (.+)$/m.exec(markdown) ?? []
  /** From the page to the server's root. */
  const root = "../".repeat(page.split("/").length).slice(0, -1)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title.replaceAll("`", "")} · Webhook Trigger</title>
<style>${new Html(style)}</style></head><body>
<header><nav aria-label="Documentation"><p>${
    uiPath === undefined ? "" : html`<a href="${root}${below(uiPath, "/")}">← Web UI</a> · `
  }<a href="${root}/docs/README.md">Guides</a> · <a href="${root}/docs">HTTP API</a></p></nav></header>
<main>${bodyOf(markdown, page, files)}</main>
</body></html>
`
}

const make = Effect.map(UiPath, (uiPath) => {
  const folder = findFolder()
  if (folder === undefined) return []
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.(md|png)$/.test(name))
  const files = new Set(names)
  const headers = { "content-security-policy": policy }
  const respond = (name: string) =>
    name.endsWith(".png")
      ? HttpServerResponse.uint8Array(readFileSync(folder + name), { contentType: "image/png" })
      : HttpServerResponse.text(
          pageOf(readFileSync(folder + name, "utf8"), name, files, Option.getOrUndefined(uiPath)).text,
          { contentType: "text/html; charset=utf-8", headers }
        )
  const known = new Map<string, HttpServerResponse.HttpServerResponse>()
  const responseOf = (name: string): HttpServerResponse.HttpServerResponse => {
    const response = known.get(name) ?? respond(name)
    known.set(name, response)
    return response
  }
  return names.map((name) => [`/docs/${name}`, Effect.sync(() => responseOf(name))] as const)
})

export const layer = ifApiDocs(ReadOnlyRoute.all(make))
