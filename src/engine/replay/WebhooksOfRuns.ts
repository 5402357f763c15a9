import { Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { WebhookStore } from "../../repo/manage/WebhookStore.ts"

/** The webhooks of these runs as they are now, each read once; without those that are gone. */
export const webhooksOf = (
  { webhookRow }: WebhookStore["Service"],
  runs: ReadonlyArray<Pick<Run, "webhook_id">>
): Effect.Effect<ReadonlyMap<WebhookId, WebhookRow>, Unavailable> =>
  Effect.forEach(new Set(runs.flatMap(({ webhook_id }) => webhook_id ?? [])), (id) =>
    webhookRow(id).pipe(
      Effect.map((webhook) => [[id, webhook] as const]),
      Effect.catchTag("NotFound", () => Effect.succeed([]))
    )
  ).pipe(Effect.map((found) => new Map(found.flat())))
