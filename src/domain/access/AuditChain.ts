/**
 * The chain of audit events. Each event has the hash of its content, which contains the hash of the event before it. So an
 * event that was changed, removed or inserted afterwards is found. Plain code: the web UI loads it, too.
 */

/** A place in the chain. */
export interface AuditLink {
  /** From 1 on. */
  readonly sequence: number
  /** SHA-256, in hexadecimal digits. */
  readonly hash: string
}

/** Before the first event. */
export const noEvent: AuditLink = { sequence: 0, hash: "0".repeat(64) }

/** An event as it was written. `content` is one line of JSON. */
export interface ChainedEvent extends AuditLink {
  readonly content: string
}

export const auditFaults = ["changed", "missing", "inserted", "not_linked", "not_found"] as const
export type AuditFault = (typeof auditFaults)[number]

/** The first event that is not in order. */
export interface AuditBreak {
  readonly fault: AuditFault
  readonly sequence?: number
  readonly event_id?: string
}

const faults: { readonly [Fault in AuditFault]: string } = {
  changed: "was changed",
  missing: "is missing",
  inserted: "was inserted",
  not_linked: "does not follow the event before it: one of the two was changed",
  not_found: "is not in the log"
}

/** For people: "Event 7 is missing". */
export const describeBreak = ({ event_id, fault, sequence }: AuditBreak): string =>
  [
    "Event",
    ...(sequence === undefined ? [] : [sequence]),
    ...(event_id === undefined ? [] : [`(${event_id})`]),
    faults[fault]
  ].join(" ")

/** For people: of so many events before the broken one. */
export const describeIntact = (events: number): string =>
  `${events} event${events === 1 ? "" : "s"} before it ${events === 1 ? "is" : "are"} intact`

/** The line of an export: the content, with its hash as the last field. */
export const lineOf = ({ content, hash }: ChainedEvent): string => `${content.slice(0, -1)},"hash":"${hash}"}`

const fieldsOf = (content: string): { readonly [name: string]: unknown } => {
  try {
    return Object(JSON.parse(content))
  } catch {
    return {}
  }
}

/** The event of an export's line. Undefined: it is no such line. */
export const eventOf = (line: string): ChainedEvent | undefined => {
  const [end, hash] = /,"hash":"([0-9a-f]{64})"\}$/.exec(line) ?? []
  if (end === undefined || hash === undefined) return undefined
  const content = `${line.slice(0, -end.length)}}`
  const { sequence } = fieldsOf(content)
  return typeof sequence === "number" ? { sequence, content, hash } : undefined
}

/** A place as people keep it: `120:9f86d0…`. */
export const linkText = ({ hash, sequence }: AuditLink): string => `${sequence}:${hash}`

export const linkPattern = /^[1-9]\d{0,14}:[0-9a-f]{64}$/

/** Of a text that matches the pattern. */
export const linkOf = (text: string): AuditLink => {
  const [sequence, hash] = text.split(":")
  return { sequence: Number(sequence), hash: hash! }
}

export interface ChainOptions {
  /** SHA-256, in hexadecimal digits. */
  readonly hashOf: (content: string) => string
  /** Events between may be left out. */
  readonly isFiltered?: boolean | undefined
  /** An event that must be there, unless retention has removed it. */
  readonly expected?: AuditLink | undefined
}

/** Checks the events of a chain, in their order. */
export const chainCheck = ({ expected, hashOf, isFiltered = false }: ChainOptions) => {
  let last: AuditLink | undefined
  let events = 0
  let isFound = expected === undefined

  const faultOf = ({ content, hash, sequence }: ChainedEvent): AuditBreak | undefined => {
    const fields = fieldsOf(content)
    const found = { sequence, ...(typeof fields.id === "string" && { event_id: fields.id }) }
    const next = last && last.sequence + 1
    if (next !== undefined && sequence < next) return { fault: "inserted", ...found }
    if (next !== undefined && sequence > next && !isFiltered) return { fault: "missing", sequence: next }
    if (hashOf(content) !== hash || fields.sequence !== sequence) return { fault: "changed", ...found }
    if (sequence === next && fields.previous_hash !== last?.hash) return { fault: "not_linked", ...found }
    if (sequence === expected?.sequence && hash !== expected.hash) return { fault: "changed", ...found }
    return undefined
  }

  return {
    last: (): AuditLink | undefined => last,
    /** Retention has removed the events up to this one. */
    startAt: (start: AuditLink): void => {
      if (last === undefined || start.sequence > last.sequence) last = start
      if (expected !== undefined && expected.sequence <= start.sequence) isFound = true
    },
    next: (event: ChainedEvent): AuditBreak | undefined => {
      const broken = faultOf(event)
      if (broken !== undefined) return broken
      last = { sequence: event.sequence, hash: event.hash }
      if (event.sequence === expected?.sequence) isFound = true
      events++
      return undefined
    },
    /** The result, after the last event or a break. */
    result: (fault?: AuditBreak) => {
      const broken = fault ?? (isFound ? undefined : ({ fault: "not_found", sequence: expected!.sequence } as const))
      return {
        events,
        ...(last !== undefined && last.sequence > 0 && { last }),
        ...(broken !== undefined && { broken })
      }
    }
  }
}
