import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { toast } from "../../components/Toasts.tsx"
import { ExactTime, RelativeTime } from "../../format/Time.tsx"

const end = async (webhook: Webhook) => {
  await runAction(() => api.webhooks.endOldToken({ path: { id: webhook.id } }))
  void queries.invalidateQueries({ queryKey: ["webhook", webhook.id] })
  toast("The old token no longer works.")
}

/** The old token while it is valid, and its last use. An entry of a `dl`. */
export const OldToken = ({ webhook }: { readonly webhook: Webhook }) => {
  const { old_token_hint, old_token_used_at, old_token_used_from, old_token_valid_until } = webhook
  if (old_token_valid_until === undefined || Date.parse(old_token_valid_until) <= Date.now()) return null
  return (
    <div>
      <dt>Old token</dt>
      <dd className="stack">
        <span>
          <span className="mono">whk_{old_token_hint}</span>, valid until <ExactTime at={old_token_valid_until} />
        </span>
        <span>
          {old_token_used_at === undefined ? (
            "Not used since it was replaced"
          ) : (
            <>
              Last used <RelativeTime at={old_token_used_at} /> from {old_token_used_from}
            </>
          )}
        </span>
        <span>
          <Button
            needs="webhooks.endOldToken"
            compact
            onPress={() => void end(webhook).catch((error: Error) => toast(error.message))}
          >
            End it now
          </Button>
        </span>
      </dd>
    </div>
  )
}
