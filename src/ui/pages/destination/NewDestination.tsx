import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { DestinationWithSecret, Webhook } from "../../api/Types.ts"
import { type DestinationFields, DestinationForm } from "./DestinationForm.tsx"

export const NewDestination = ({
  webhook: { id },
  onClose,
  onCreated
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
  readonly onCreated: (created: DestinationWithSecret) => void
}) => {
  const create = async ({ description, ...fields }: DestinationFields) => {
    const payload = { ...fields, ...(description !== "" && { description }) }
    const created = await runAction(() => api.destinations.create({ path: { id }, payload: payload as never }))
    await queries.invalidateQueries({ queryKey: ["destinations", id] })
    onCreated(created)
  }
  return <DestinationForm save={create} onClose={onClose} />
}
