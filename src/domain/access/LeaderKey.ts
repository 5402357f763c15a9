import { Schema } from "effect"
import { LeaderKeyId } from "../Id.ts"
import { trimmed } from "../SchemaParts.ts"
import { TeamName } from "../Team.ts"
import { optional, time } from "../Time.ts"

const maxName = 100

/** Opens a team's prompts over HTTP, and nothing else. */
export const LeaderKey = Schema.Struct({
  id: LeaderKeyId,
  team: TeamName,
  name: Schema.String.annotate({ description: "Where the key is used, for people." }),
  hint: Schema.String.annotate({ description: "The key's last characters. Only a hash of the key is stored." }),
  created_at: time("When the key was created."),
  last_used_at: optional(time("When the key was last used, to five minutes. Absent: never."))
}).annotate({ identifier: "LeaderKey", description: "A key with which a leader gets its team's prompts over HTTP." })
export type LeaderKey = typeof LeaderKey.Type

export const LeaderKeyDraft = Schema.Struct({
  name: trimmed(maxName, "Where the key is used, for people.")
})
export type LeaderKeyDraft = typeof LeaderKeyDraft.Type

/** A key as it is stored. */
export interface LeaderKeyRow extends LeaderKey {
  readonly key_hash: Uint8Array
}
