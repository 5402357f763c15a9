import { Array, Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import * as Combined from "../../domain/prompt/Combined.ts"
import { type CombinedRun, LaneStore, type PlacedRun } from "../../repo/run/LaneStore.ts"
import type { Renderer } from "../prompt/Renderer.ts"
import * as Rendering from "../prompt/Rendering.ts"
import type { Settings } from "../Settings.ts"
import { Steps } from "./Steps.ts"

/** Webhooks whose prompts are made at the same time. */
const atOnce = 4

/**
 * Makes the prompts of runs that combine requests when their windows are closed, once for all their requests. Driven by the
 * rows: a crash changes nothing, and two servers at once do no harm.
 */
export const make: Effect.Effect<
  Effect.Effect<void, Unavailable>,
  never,
  LaneStore | Renderer | Settings | Steps
> = Effect.gen(function* () {
  const lanes = yield* LaneStore
  const render = yield* Rendering.make
  const steps = yield* Steps

  /**
   * With as many of the latest requests as fit into a prompt. If the template fails, only with the last one, with which it did
   * not fail before. It is accepted, so it gets a prompt in any case.
   */
  const placedOf = (run: CombinedRun, requests = run.requests): Effect.Effect<PlacedRun, Unavailable> => {
    const { joined, run_id, template, webhook_id } = run
    const variables = { ...run.variables, ...Combined.of(template, requests, joined + 1) }
    return render({ ...template, id: webhook_id }, variables).pipe(
      Effect.map((rendered) => ({ run_id, variables, ...rendered })),
      Effect.catch((refusal) => {
        if (refusal._tag === "Unavailable") return Effect.fail(refusal)
        if (requests.length <= 1) return Effect.succeed(run)
        return placedOf(run, requests.slice(refusal._tag === "PromptTooLarge" ? Math.ceil(requests.length / 4) : -1))
      }),
      Effect.catchDefect((defect) => Effect.as(Effect.logError("The renderer failed", defect), run))
    )
  }

  const place = (run: CombinedRun) => Effect.flatMap(placedOf(run), lanes.placeCombined)

  /** In the order in which their windows ended. Returns the webhook if the renderer is not available for it. */
  const placeOfWebhook = (runs: ReadonlyArray<CombinedRun>): Effect.Effect<ReadonlyArray<WebhookId>> =>
    Effect.match(Effect.forEach(runs, place, { discard: true }), {
      onFailure: () => [runs[0]!.webhook_id],
      onSuccess: () => []
    })

  const placeSome = (except: ReadonlyArray<WebhookId>): Effect.Effect<void, Unavailable> =>
    Effect.gen(function* () {
      const runs = yield* lanes.combinedRuns(except)
      if (runs.length === 0) return
      const ofWebhooks = Object.values(Array.groupBy(runs, ({ webhook_id }) => webhook_id))
      const failed = yield* Effect.forEach(ofWebhooks, (runs) => placeOfWebhook(runs), { concurrency: atOnce })
      yield* steps.admit([...new Set(runs.map(({ team }) => team))])
      yield* placeSome([...except, ...failed.flat()])
    })

  return placeSome([])
})
