import { Context, type Effect } from "effect"
import type { Unavailable } from "../domain/Errors.ts"

/** What prompts are signed with, so that a reply counts only from somebody who got the prompt. */
export interface ReplyKey {
  /** 32 bytes, the same for all replicas, from the first start on. */
  readonly key: Uint8Array
}

/** The key of the prompts' signatures. */
export class ReplyKeyStore extends Context.Tag("webhook-trigger/ReplyKeyStore")<
  ReplyKeyStore,
  { readonly replyKey: Effect.Effect<ReplyKey, Unavailable> }
>() {}
