/** Follows redirects like a browser, with the cookies of each origin. */
import { Effect } from "effect"

export interface Visit {
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Every address that was requested, the last one included. */
  readonly trail: ReadonlyArray<URL>
}

const mostRedirects = 20

export class CookieJar {
  readonly #cookies = new Map<string, Map<string, string>>()

  of(url: string | URL): Map<string, string> {
    const { origin } = new URL(url)
    const known = this.#cookies.get(origin) ?? new Map<string, string>()
    this.#cookies.set(origin, known)
    return known
  }

  header(url: string | URL): string {
    return [...this.of(url)].map(([name, value]) => `${name}=${value}`).join("; ")
  }

  /** Requests an address, and those to which it redirects until one of them is `until`, which is not requested. */
  readonly go = (first: string, until: (url: URL) => boolean = () => false): Effect.Effect<Visit> =>
    Effect.promise(async (signal) => {
      const trail: Array<URL> = []
      let url = new URL(first)
      for (let n = 0; n < mostRedirects; n++) {
        trail.push(url)
        // Servers close idle connections after five seconds, also as the next request begins.
        const headers = { cookie: this.header(url), connection: "close" }
        const response = await fetch(url, { redirect: "manual", signal, headers })
        this.#store(url, response.headers)
        const location = response.headers.get("location")
        const next = location === null ? undefined : new URL(location, url)
        if (next === undefined || until(next)) {
          const { headers, status } = response
          return { url: next ?? url, status, headers, text: await response.text(), trail }
        }
        await response.body?.cancel()
        url = next
      }
      throw new Error(`more than ${mostRedirects} redirects: ${trail.join(" ")}`)
    })

  #store(url: URL, headers: Headers): void {
    const cookies = this.of(url)
    for (const line of headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim())
      const at = pair.indexOf("=")
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
      const isOver = attributes.some((each) => /^max-age=0$/i.test(each) || /^expires=Thu, 01 Jan 1970/i.test(each))
      if (isOver || value === "") cookies.delete(name)
      else cookies.set(name, value)
    }
  }
}
