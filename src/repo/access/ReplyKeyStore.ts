import { Context, type Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"

/** The key that signs prompts, so that only a recipient of a prompt can reply. */
export interface ReplyKey {
  /** 32 bytes, the same for all replicas, from the first start on. */
  readonly key: Uint8Array
}

/** The key that signs prompts. */
export class ReplyKeyStore extends Context.Service<
  ReplyKeyStore,
  { readonly replyKey: Effect.Effect<ReplyKey, Unavailable> }
>()("webhook-trigger/ReplyKeyStore") {}
