import type { Layer } from "effect"

/** Of a driver that lives in the server's process: for trying out, and for a single server. */
export interface Embedded {
  /** Where it is, in words. */
  readonly place: string
  /** The variable that takes production's in its place. */
  readonly replacedBy: string
}

/** A driver of the repo or of the bus, as the server uses it. */
export interface Driver<Port, Error = never> {
  /** As the API and the web UI call it; `embedded` for one that lives in the server's process. */
  readonly name: string
  readonly layer: Layer.Layer<Port, Error>
  readonly embedded?: Embedded
}
