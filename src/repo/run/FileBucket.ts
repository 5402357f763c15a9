import { Context, type Effect, Option } from "effect"
import { type FileMissing, Unavailable } from "../../domain/Errors.ts"

/** A store outside the database. An object is written once, under a key that nothing else has. */
export interface Bucket {
  readonly put: (key: string, bytes: Uint8Array) => Effect.Effect<void, Unavailable>
  /** None: there is no such object. `FileMissing`: there is none, or the server may not read it. */
  readonly get: (key: string) => Effect.Effect<Option.Option<Uint8Array>, FileMissing | Unavailable>
  /** Succeeds if there is no such object, too. */
  readonly remove: (key: string) => Effect.Effect<void, Unavailable>
}

/** Where the contents of new files are stored. Default: in the database. A reference, so that a host need not provide it. */
export class FileBucket extends Context.Reference("webhook-trigger/FileBucket", {
  defaultValue: () => Option.none<Bucket>()
}) {}

export const unavailable = (detail: string) => new Unavailable({ what: "files", detail, not_done: true })
