import { Context, type DateTime, type Effect } from "effect"
import type { Unavailable } from "../domain/Errors.ts"

/** What prompts are signed with, so that a reply counts only from somebody who got the prompt. */
export interface ReplyKey {
  /** 32 bytes, the same for all replicas, from the first start on. */
  readonly key: Uint8Array
  /**
   * Prompts of runs accepted from then on are signed. In a new database that is always; in one of the first release, which
   * did not sign, an hour after its upgrade, so that servers of both releases can run meanwhile.
   */
  readonly signed_from: DateTime.Utc
}

/** The key of the prompts' signatures. */
export class ReplyKeyStore extends Context.Tag("webhook-trigger/ReplyKeyStore")<
  ReplyKeyStore,
  { readonly replyKey: Effect.Effect<ReplyKey, Unavailable> }
>() {}
