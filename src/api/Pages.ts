/**
 * The addresses of the web UI's pages. The server answers each with the UI's HTML document; the UI's router has a view for
 * each. The first match wins, so fixed addresses come before addresses with a parameter. Plain data: the browser loads it
 * without Effect.
 */
export const pages = {
  home: "/",
  signIn: "/sign-in",
  webhooks: "/webhooks",
  newWebhook: "/webhooks/new",
  webhook: "/webhooks/:id",
  editWebhook: "/webhooks/:id/edit",
  callWebhook: "/webhooks/:id/call",
  templates: "/webhooks/:id/templates",
  runs: "/runs",
  run: "/runs/:run_id",
  alerts: "/alerts",
  teams: "/teams",
  team: "/teams/:team",
  threads: "/teams/:team/threads",
  thread: "/threads/:thread_id",
  server: "/server",
  audit: "/audit",
  sessions: "/sessions",
  apiKeys: "/keys"
} as const

export type PageName = keyof typeof pages

type ParameterNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** The parameters in a page's address, such as `{ id: string }`. */
export type PageParameters<Name extends PageName> = {
  readonly [Parameter in ParameterNames<(typeof pages)[Name]>]: string
}

/** The address of a page: `pathTo("webhook", { id })`. */
export const pathTo = <Name extends PageName>(
  page: Name,
  ...[parameters]: [ParameterNames<(typeof pages)[Name]>] extends [never] ? [] : [PageParameters<Name>]
): string =>
  pages[page].replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent((parameters as Record<string, string> | undefined)?.[name] ?? "")
  )
