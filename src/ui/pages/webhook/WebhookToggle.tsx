import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { useMay } from "../../api/Access.ts"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Toggle } from "../../components/form/Toggle.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"

/** Switches a webhook on or off, immediately on screen, and back if the request fails. */
export const WebhookToggle = ({
  webhook,
  label,
  children
}: {
  readonly webhook: Webhook
  readonly label: string
  readonly children?: ReactNode
}) => {
  const show = (enabled: boolean) => {
    // A response to an earlier request would undo the change on screen.
    for (const queryKey of [["webhooks"], ["webhook", webhook.id]]) void queries.cancelQueries({ queryKey })
    const changed = <W extends Webhook>(each: W): W => (each.id === webhook.id ? { ...each, enabled } : each)
    queries.setQueryData<ReadonlyArray<Webhook>>(["webhooks"], (all) => all?.map(changed))
    queries.setQueryData<Webhook>(["webhook", webhook.id], (one) => one && changed(one))
  }
  const may = useMay()
  const { mutate } = useMutation({
    mutationFn: (enabled: boolean) =>
      runAction(() => api.webhooks.edit({ path: { id: webhook.id }, headers: {}, payload: { enabled } })),
    onMutate: show,
    onSuccess: ({ enabled, name }) => {
      show(enabled)
      toast(`${showDirectionMarks(name)} is ${enabled ? "on" : "off: requests now get 404"}`)
    },
    onError: (error, enabled) => {
      show(!enabled)
      toastFailure(explain(error).title)
    }
  })
  if (!may("webhooks.edit")) return <span className="badge">{webhook.enabled ? "On" : "Off"}</span>
  return (
    <Toggle on={webhook.enabled} label={label} onChange={mutate}>
      {children}
    </Toggle>
  )
}
