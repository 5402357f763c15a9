import { Option } from "effect"

/**
 * On every response: browsers do not guess its type, and do not pass its address, which may contain a token, to another
 * site.
 */
export const securityHeaders = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" } as const

/**
 * `Strict-Transport-Security` for a server that callers reach by TLS (RFC 6797): a year. Without `includeSubDomains`,
 * since others may operate its subdomains.
 */
export const strictTransportSecurity = (publicUrl: Option.Option<string>): Option.Option<string> =>
  Option.exists(publicUrl, (url) => url.startsWith("https:")) ? Option.some("max-age=31536000") : Option.none()
