import { destinationsOf } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Destination } from "../../api/Types.ts"
import { type DestinationFields, DestinationForm } from "./DestinationForm.tsx"

export const EditDestination = ({
  destination,
  onClose
}: {
  readonly destination: Destination
  readonly onClose: () => void
}) => {
  const { id, webhook_id } = destination
  const save = async ({ description, kind: _, ...fields }: DestinationFields) => {
    const payload = { ...fields, description: description === "" ? null : description }
    const path = { id: webhook_id ?? "", destination_id: id }
    await runAction(() => destinationsOf(webhook_id).edit({ path, payload: payload as never }))
    await queries.invalidateQueries({ queryKey: ["destinations", webhook_id] })
    onClose()
  }
  return (
    <DestinationForm isOfAlerts={webhook_id === undefined} destination={destination} save={save} onClose={onClose} />
  )
}
