import { createHmac, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { parse, stringify } from "uuid"
import type { Correlation as Port } from "../../bus/Bus.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { ReplyKeyStore } from "../../repo/access/ReplyKeyStore.ts"
import type { OutRun } from "../../repo/run/RunStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"

/** Bytes of the signature in an id: 2^128 guesses. */
const signatureLength = 16
const runIdLength = 16

/** How many correlation ids are remembered. */
const mostRemembered = 2_000

/** The content of a correlation id. */
type Subject = NonNullable<ReturnType<Port["subjectOf"]>>

/**
 * The correlation IDs of prompts: a signature (the first half of an HMAC-SHA256), the run's ID and the team's name, as
 * base64url. Only servers can make one, so only the leader that got the prompt knows it. A run that is sent again has
 * the same one, so a leader that remembers it works once. Only after a rest is it another one, which ends in the number of rests:
 * then the agent is to try again, and a late repeat of its earlier reply must not count for the new prompt.
 *
 * A run ID alone proves nothing: callers, logs and the history show it.
 */
export class Correlation extends Context.Service<
  Correlation,
  Port & { readonly idOf: (run: Pick<OutRun, "run_id" | "team" | "rests">) => string }
>()("webhook-trigger/Correlation") {
  /** Waits at the start while the database is unreachable. */
  static readonly layer: Layer.Layer<Correlation, never, ReplyKeyStore> = Layer.effect(
    Correlation,
    Effect.gen(function* () {
      const { key } = yield* untilAvailable((yield* ReplyKeyStore).replyKey, {
        subject: "the start waits for the database"
      })
      const sign = (subject: Uint8Array) =>
        createHmac("sha256", key).update(subject).digest().subarray(0, signatureLength)

      /** Ids of the last prompts: this process made them, so their replies need no check. */
      const made = new RecentMap<string, Subject>(mostRemembered)

      return {
        idOf: ({ rests = 0, run_id, team }) => {
          const subject = Buffer.concat([parse(run_id), Buffer.from(rests === 0 ? team : `${team} ${rests}`)])
          const id = Buffer.concat([sign(subject), subject]).toString("base64url")
          made.set(id, { run_id, team, rests })
          return id
        },
        subjectOf: (correlation_id) => {
          const known = made.get(correlation_id)
          if (known !== undefined) return known
          const bytes = Buffer.from(correlation_id, "base64url")
          if (bytes.length <= signatureLength + runIdLength) return undefined
          const subject = bytes.subarray(signatureLength)
          if (!timingSafeEqual(sign(subject), bytes.subarray(0, signatureLength))) return undefined
          const [team, rests = 0] = subject.subarray(runIdLength).toString().split(" ")
          return {
            run_id: stringify(subject.subarray(0, runIdLength)) as RunId,
            team: team as TeamName,
            rests: Number(rests)
          }
        }
      }
    })
  )
}
