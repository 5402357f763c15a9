import { useState } from "react"
import { useLocation } from "wouter"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { pageOfNew, setNewToken } from "./NewToken.ts"

/** Creates another webhook with the same settings, and shows its token. */
export const DuplicateWebhook = ({ webhook }: { readonly webhook: Webhook }) => {
  const [, navigate] = useLocation()
  const [pending, setPending] = useState(false)
  const duplicate = async () => {
    setPending(true)
    try {
      const created = await runAction(() => api.webhooks.duplicate({ path: { id: webhook.id }, payload: {} }))
      setNewToken(created)
      void queries.invalidateQueries({ queryKey: ["webhooks"] })
      navigate(pageOfNew(created))
      toast(`${showDirectionMarks(created.webhook.name)} created`)
    } catch (error) {
      setPending(false)
      toastFailure(explain(error).title)
    }
  }
  return (
    <section className="card row between" aria-label="Duplicate">
      <div className="grow">
        <h2>Duplicate the webhook</h2>
        <p className="muted small">Creates a webhook with the same team, template and settings, and its own token.</p>
      </div>
      <Button pending={pending} onPress={() => void duplicate()}>
        Duplicate
      </Button>
    </section>
  )
}
