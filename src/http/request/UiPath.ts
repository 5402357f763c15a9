import { Context, Layer, Option } from "effect"
import { pages } from "../../api/Pages.ts"

/**
 * The path of the web UI, without a slash at the end. Empty, the default: its pages are at the root. None: there is no
 * UI, so nobody can sign in at an OpenID provider.
 */
export class UiPath extends Context.Reference<UiPath>()("webhook-trigger/UiPath", {
  defaultValue: () => Option.some("")
}) {
  /**
   * Leaves the root to the host: `UiPath.layer("/admin/webhooks")`. Throws if the path is not one or more names of
   * letters, digits, `-`, `_` and `.`, each after a slash.
   */
  static readonly layer = (path: `/${string}`): Layer.Layer<never> =>
    Layer.sync(UiPath, () => {
      const trimmed = path.replace(/\/$/, "")
      if (!/^(\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/.test(trimmed)) {
        throw new Error(`The path of the web UI must be like /admin/webhooks, not ${path}`)
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
