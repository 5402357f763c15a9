import { Context, Layer, Option } from "effect"
import { pages } from "../../api/Pages.ts"

/** First names of paths that the server answers itself. */
export const reserved = ["api", "leader", "mcp", "webhook", "health", "metrics", "openapi.json", "docs"]

/**
 * The path of the web UI, without a slash at the end. Empty, the default: its pages are at the root. None: there is no
 * UI, so nobody can sign in at an OpenID provider.
 */
export class UiPath extends Context.Reference("webhook-trigger/UiPath", {
  defaultValue: () => Option.some("")
}) {
  /**
   * Leaves the root to the host: `UiPath.layer("/admin/webhooks")`. Throws if the path is not one or more names of
   * letters, digits, `-`, `_` and `.`, each after a slash, or if the first is one of the server's own, such as `api`.
   */
  static readonly layer = (path: `/${string}`): Layer.Layer<never> =>
    Layer.sync(UiPath, () => {
      const trimmed = path.replace(/\/$/, "")
      if (!/^(\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/.test(trimmed)) {
        throw new Error(`The path of the web UI must be like /admin/webhooks, not ${path}`)
      }
      const [, first = ""] = trimmed.split("/")
      if (reserved.includes(first)) {
        throw new Error(`The server has paths of its own below /${first}. Choose another for the web UI than ${path}`)
      }
      return Option.some(trimmed)
    })

  /** No web UI. */
  static readonly none: Layer.Layer<never> = Layer.succeed(UiPath, Option.none())
}

/** An address of the UI, such as a page's, below its path. */
export const below = (path: string, address: `/${string}`): `/${string}` => `${path}${address}` as `/${string}`

/** The addresses of all pages. */
export const pagesBelow = (path: string): ReadonlyArray<`/${string}`> =>
  Object.values(pages).map((page) => below(path, page))
