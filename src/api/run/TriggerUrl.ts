/** Where callers trigger webhooks. Plain data: the browser loads it without Effect. */
export const triggerPath = "/webhook/trigger"

/**
 * A webhook's trigger URL on the server at `origin`, which may include the path that the server is mounted under. It has no
 * token when the token is sent in a header.
 */
export const triggerUrl = (origin: string, token?: string): string =>
  token === undefined ? `${origin}${triggerPath}` : `${origin}${triggerPath}/${token}`
