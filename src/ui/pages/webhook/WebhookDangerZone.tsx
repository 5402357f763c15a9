import { useState } from "react"
import { useLocation } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { toast } from "../../components/Toasts.tsx"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"
import { setNewToken } from "./NewToken.ts"

/** How long the old token stays valid, in seconds. */
type Overlap = "0" | "3600" | "86400" | "604800" | "2592000"

const overlaps: ReadonlyArray<readonly [Overlap, string]> = [
  ["0", "immediately"],
  ["3600", "in an hour"],
  ["86400", "in a day"],
  ["604800", "in 7 days"],
  ["2592000", "in 30 days"]
]

/** Actions that break callers or cannot be undone. */
export const WebhookDangerZone = ({ webhook }: { readonly webhook: Webhook }) => {
  const [, navigate] = useLocation()
  const [confirming, setConfirming] = useState<"regenerate" | "delete">()
  const [overlap, setOverlap] = useState<Overlap>("0")
  const close = () => setConfirming(undefined)
  const regenerate = async () => {
    setNewToken(
      await runAction(() =>
        api.webhooks.regenerate({ path: { id: webhook.id }, query: { overlap_seconds: Number(overlap) } })
      )
    )
    void queries.invalidateQueries({ queryKey: ["webhook", webhook.id] })
    void queries.invalidateQueries({ queryKey: ["webhooks"] })
    navigate(pathTo("callWebhook", webhook))
  }
  const remove = async () => {
    await runAction(() => api.webhooks.delete({ path: { id: webhook.id }, headers: {} }))
    navigate(pathTo("webhooks"))
    void queries.invalidateQueries({ queryKey: ["webhooks"] })
    toast(`${showDirectionMarks(webhook.name)} deleted`)
  }
  return (
    <section className="card stack" aria-label="Token and deletion">
      {webhook.shares === undefined && (
        <div className="row between">
          <div className="grow">
            <h2>Regenerate the token</h2>
            <p className="muted small">
              If the token was lost or may have leaked. Every caller needs the new one. The old one stops working
              immediately or after a time of your choice.
            </p>
          </div>
          <Button onPress={() => setConfirming("regenerate")}>Regenerate token</Button>
        </div>
      )}
      <div className="row between">
        <div className="grow">
          <h2>Delete the webhook</h2>
          <p className="muted small">Permanently, with its entire run history. Its token stops working immediately.</p>
        </div>
        <Button variant="danger" onPress={() => setConfirming("delete")}>
          Delete webhook
        </Button>
      </div>
      {confirming === "regenerate" && (
        <ConfirmDialog title="Regenerate the token?" action="Regenerate" onConfirm={regenerate} onClose={close}>
          <p>
            The token that ends in <span className="mono">{webhook.token_hint}</span> stops working, and its callers get
            404. Accepted runs continue.
          </p>
          <SelectField label="The old token stops working" value={overlap} onChange={setOverlap} options={overlaps} />
        </ConfirmDialog>
      )}
      {confirming === "delete" && (
        <ConfirmDialog
          title="Delete this webhook?"
          action="Delete permanently"
          requiredText={showDirectionMarks(webhook.name)}
          onConfirm={remove}
          onClose={close}
        >
          <p>
            <UserText>{webhook.name}</UserText> and its entire run history will be deleted. This cannot be undone.
            Unfinished runs are dropped, and callers get 404.
          </p>
        </ConfirmDialog>
      )}
    </section>
  )
}
