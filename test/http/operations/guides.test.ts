/** The guides at `/docs/…`: every page is served, and every link in it leads somewhere. */
import { readdirSync } from "node:fs"
import { describe, expect, it } from "../../support/It.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"

const pages = readdirSync("docs", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"))

const idsIn = (text: string) => [...text.matchAll(/<h\d id="([^"]*)"/g)].map(([, id]) => id)
const linksIn = (text: string) => [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, href]) => href!)

describe("the guides", () => {
  it.live("are served as pages whose links lead to pages, headings and pictures of this server", function* () {
    const { http } = yield* start()
    const texts = new Map<string, string>()
    for (const page of pages) {
      const { headers, status, text } = yield* http("GET", `/docs/${page}`)
      expect([page, status, headers.get("content-type")]).toEqual([page, 200, "text/html; charset=utf-8"])
      expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; img-src/)
      expect(text).toMatch(/<title>[^<]+ · Webhook Trigger<\/title>/)
      texts.set(`/docs/${page}`, text)
    }
    const pictures = new Set<string>()
    const broken = [...texts].flatMap(([path, text]) =>
      linksIn(text).flatMap((href) => {
        const { hash, origin, pathname } = new URL(href, `http://server${path}`)
        if (origin !== "http://server") return []
        if (pathname.endsWith(".png")) pictures.add(pathname)
        if (!pathname.endsWith(".md")) return []
        const target = texts.get(pathname)
        const isThere = target !== undefined && (hash === "" || idsIn(target).includes(hash.slice(1)))
        return isThere ? [] : [`${path}: ${href}`]
      })
    )
    expect(broken).toEqual([])
    expect(pictures.size).toBeGreaterThan(0)
    for (const path of pictures) {
      const { headers, status } = yield* http("GET", path)
      expect([path, status, headers.get("content-type")]).toEqual([path, 200, "image/png"])
    }
  })

  it.live("have only what is below docs, and can only be read", function* () {
    const { http } = yield* start()
    const { text } = yield* http("GET", "/docs/use/destinations.md")
    expect(linksIn(text)).toEqual(expect.arrayContaining(["../../", "../../docs/README.md", "../../docs"]))
    for (const path of ["/docs/none.md", "/docs/../package.json", "/docs/%2e%2e/package.json", "/docs/use"]) {
      expect([path, (yield* http("GET", path)).status]).toEqual([path, 404])
    }
    expect(refusal(yield* http("POST", "/docs/README.md"))).toStrictEqual([405, "method_not_allowed"])
  })
})
