import type { Layer } from "effect"

/** A driver in the server's process, for evaluation and single servers. */
export interface Embedded {
  /** Its location in words. */
  readonly place: string
  /** The variable that selects the driver for production. */
  readonly replacedBy: string
}

/** A driver of the repo or of the bus, as the server uses it. */
export interface Driver<Port, Error = never> {
  /** Its name in the API and the web UI; `embedded` for a driver in the server's process. */
  readonly name: string
  readonly layer: Layer.Layer<Port, Error>
  readonly embedded?: Embedded
}
