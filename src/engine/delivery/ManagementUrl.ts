import { Context, Layer, Option } from "effect"

/** Where people find the pages of runs, without a slash at the end. None: it is not known, so messages have no links to runs. */
export class ManagementUrl extends Context.Reference("webhook-trigger/ManagementUrl", {
  defaultValue: () => Option.none<string>()
}) {
  static readonly layer = (url: Option.Option<string>): Layer.Layer<never> =>
    Layer.succeed(
      ManagementUrl,
      Option.map(url, (url) => url.replace(/\/+$/, ""))
    )
}
