import { createHmac, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { parse, stringify } from "uuid"
import type { Correlation as Port } from "../../bus/Bus.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { ReplyKeyStore } from "../../repo/ReplyKeyStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"

/** Bytes of the signature that are sent: 2^128 guesses. */
const signatureLength = 16
const runIdLength = 16

/** Prompts whose ids are remembered. */
const mostRemembered = 2_000

/** What a correlation id says. */
type Subject = NonNullable<ReturnType<Port["subjectOf"]>>

/**
 * The correlation ids of prompts. Only whoever got the prompt knows it, since only a server can make it: a signature (the
 * first half of an HMAC-SHA256), the run's id and the team's name, as base64url. It is the same whenever the run is sent
 * again, so a leader that knows prompts by it does no work twice.
 *
 * Run ids alone are no proof: callers, logs and the history show them.
 */
export class Correlation extends Context.Tag("webhook-trigger/Correlation")<
  Correlation,
  Port & { readonly idOf: (run: { readonly run_id: RunId; readonly team: TeamName }) => string }
>() {
  /** Waits for the database, if it is out of reach at the start. */
  static readonly layer: Layer.Layer<Correlation, never, ReplyKeyStore> = Layer.effect(
    Correlation,
    Effect.gen(function* () {
      const { key } = yield* untilAvailable((yield* ReplyKeyStore).replyKey)
      const sign = (subject: Uint8Array) =>
        createHmac("sha256", key).update(subject).digest().subarray(0, signatureLength)

      /** Of the prompts that were sent last: their replies need not be checked, since their ids were made here. */
      const made = new RecentMap<string, Subject>(mostRemembered)

      return {
        idOf: ({ run_id, team }) => {
          const subject = Buffer.concat([parse(run_id), Buffer.from(team)])
          const id = Buffer.concat([sign(subject), subject]).toString("base64url")
          made.set(id, { run_id, team })
          return id
        },
        subjectOf: (correlation_id) => {
          const known = made.get(correlation_id)
          if (known !== undefined) return known
          const bytes = Buffer.from(correlation_id, "base64url")
          if (bytes.length <= signatureLength + runIdLength) return undefined
          const subject = bytes.subarray(signatureLength)
          if (!timingSafeEqual(sign(subject), bytes.subarray(0, signatureLength))) return undefined
          return {
            run_id: stringify(subject.subarray(0, runIdLength)) as RunId,
            team: subject.subarray(runIdLength).toString() as TeamName
          }
        }
      }
    })
  )
}
