import { presets } from "../../../domain/verification/Presets.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { toast } from "../../components/Toasts.tsx"
import { ExactTime } from "../../format/Time.tsx"

const endOldSecret = async ({ id }: Webhook) => {
  await runAction(() => api.webhooks.edit({ path: { id }, headers: {}, payload: { keep_old_secret: false } }))
  void queries.invalidateQueries({ queryKey: ["webhook", id] })
  toast("The old secret no longer works.")
}

/** How callers are verified. Entries of a `dl`. */
export const VerificationFacts = ({ webhook }: { readonly webhook: Webhook }) => {
  const { old_secret_hint, secret_hint, secret_set_at, verification } = webhook
  return (
    <>
      <div>
        <dt>Verification</dt>
        <dd>{verification ? presets[verification.preset].label : "token only"}</dd>
      </div>
      {secret_set_at && (
        <div>
          <dt>Secret</dt>
          <dd>
            <span className="mono">{secret_hint}</span>, set <ExactTime at={secret_set_at} />
          </dd>
        </div>
      )}
      {old_secret_hint && (
        <div>
          <dt>Old secret</dt>
          <dd className="stack">
            <span>
              <span className="mono">{old_secret_hint}</span>, still accepted
            </span>
            <span>
              <Button
                needs="webhooks.edit"
                compact
                onPress={() => void endOldSecret(webhook).catch((error: Error) => toast(error.message))}
              >
                End it now
              </Button>
            </span>
          </dd>
        </div>
      )}
    </>
  )
}
