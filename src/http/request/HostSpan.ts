/** The span that a host's tracer has opened for a request. It gets most of its attributes when the request has ended. */
import { Exit, type Tracer } from "effect"

/** In whatever spelling the router accepts: it decodes the URL, and ignores case and repeated slashes. */
export const mayContainToken = (url: string): boolean => {
  let decoded = url
  try {
    decoded = decodeURIComponent(url)
  } catch {
    // A path that cannot be decoded is checked as it is.
  }
  return /whk_|webhook\/+trigger/i.test(decoded)
}

/** Shows another value of an attribute, whenever it is set. */
const showing = (span: Tracer.Span, shown: (name: string, value: unknown) => unknown): void => {
  const attribute = span.attribute.bind(span)
  for (const [name, value] of span.attributes) {
    if (shown(name, value) !== value) attribute(name, shown(name, value))
  }
  Object.assign(span, { attribute: (name: string, value: unknown) => attribute(name, shown(name, value)) })
}

/** A host may use one span for many requests. */
const redacted = new WeakSet<Tracer.AnySpan>()

const mayBeToken = "<may contain a token>"

/** Removes possible tokens: from the URL, a header such as `Referer`, and the error of a failed request. */
export const redact = (span: Tracer.AnySpan): void => {
  if (span._tag !== "Span" || redacted.has(span)) return
  redacted.add(span)
  showing(span, (name, value) =>
    name !== "http.route" && typeof value === "string" && mayContainToken(value) ? mayBeToken : value
  )
  const end = span.end.bind(span)
  Object.assign(span, {
    end: (endTime: bigint, exit: Exit.Exit<unknown, unknown>) =>
      end(endTime, Exit.isFailure(exit) && mayContainToken(String(exit)) ? Exit.fail(new Error(mayBeToken)) : exit)
  })
}

/** The request headers that a span may show. Any other may hold a secret, such as a credential. */
const shownHeaders: ReadonlySet<string> = new Set(
  ["accept", "accept-encoding", "content-encoding", "content-length", "content-type", "host", "traceparent"].map(
    (name) => `http.request.header.${name}`
  )
)

const hidden = new WeakSet<Tracer.AnySpan>()

/** Removes the other headers of the request. */
export const hideHeaders = (span: Tracer.AnySpan): void => {
  if (span._tag !== "Span" || hidden.has(span)) return
  hidden.add(span)
  showing(span, (name, value) =>
    name.startsWith("http.request.header.") && !shownHeaders.has(name) ? "<redacted>" : value
  )
}
