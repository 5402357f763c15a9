import { Option, Tracer } from "effect"

const hex = (digits: number): string =>
  Array.from({ length: digits }, () => Math.floor(Math.random() * 16).toString(16)).join("")

/** A span that is not collected. Its children are not sampled either. */
const unsampled = (
  name: string,
  parent: Option.Option<Tracer.AnySpan>,
  context: Tracer.Span["context"],
  links: ReadonlyArray<Tracer.SpanLink>,
  startTime: bigint,
  kind: Tracer.SpanKind
): Tracer.Span => {
  const span = {
    _tag: "Span" as const,
    name,
    spanId: hex(16),
    traceId: Option.isSome(parent) ? parent.value.traceId : hex(32),
    parent,
    context,
    status: { _tag: "Started", startTime } as Tracer.SpanStatus,
    attributes: new Map<string, unknown>(),
    links,
    sampled: false,
    kind,
    end: (endTime: bigint, exit: Extract<Tracer.SpanStatus, { _tag: "Ended" }>["exit"]) => {
      span.status = { _tag: "Ended", startTime, endTime, exit }
    },
    attribute: () => {},
    event: () => {},
    addLinks: () => {}
  }
  return span
}

/** A tracer without spans that the caller does not sample, and without the server's own background work. */
export const sampling = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    context: (execution, fiber) => tracer.context(execution, fiber),
    span: (name, parent, context, links, startTime, kind, options) => {
      const isSampled = Option.isSome(parent) ? parent.value.sampled : kind !== "internal" && kind !== "client"
      return isSampled
        ? tracer.span(name, parent, context, links, startTime, kind, options)
        : unsampled(name, parent, context, links, startTime, kind)
    }
  })
