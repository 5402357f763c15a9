import type { WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Webhook } from "../../domain/Webhook.ts"
import type { TokenHash } from "../../engine/Token.ts"
import type { Change } from "../Repo.ts"
import type { RunTable } from "./RepoMemoryRunTable.ts"

export type StoredWebhook = Omit<Webhook, "last_triggered_at"> & { readonly token_hash: TokenHash }

/** What the memory `Repo` keeps, and how it tells of a change. */
export interface Tables {
  readonly teams: Map<TeamName, { readonly created_at: Date }>
  readonly webhooks: Map<WebhookId, StoredWebhook>
  readonly runs: RunTable
  readonly publish: (change: Change) => void
}

export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index])
