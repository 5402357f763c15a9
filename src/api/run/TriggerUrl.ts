/** The path of triggers. Plain data: the browser loads it without Effect. */
export const triggerPath = "/webhook/trigger"

/**
 * A webhook's trigger URL on the server at `origin`, which may have a path. Without a token if the token is sent in a
 * header.
 */
export const triggerUrl = (origin: string, token?: string): string =>
  token === undefined ? `${origin}${triggerPath}` : `${origin}${triggerPath}/${token}`
