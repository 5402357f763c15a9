import { destinationsOf } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { DestinationWithSecret } from "../../api/Types.ts"
import { type DestinationFields, DestinationForm } from "./DestinationForm.tsx"

export const NewDestination = ({
  webhook_id: id,
  onClose,
  onCreated
}: {
  readonly webhook_id: string | undefined
  readonly onClose: () => void
  readonly onCreated: (created: DestinationWithSecret) => void
}) => {
  const create = async ({ description, ...fields }: DestinationFields) => {
    const payload = { ...fields, ...(description !== "" && { description }) }
    const created = await runAction(() =>
      destinationsOf(id).create({ path: { id: id ?? "" }, payload: payload as never })
    )
    await queries.invalidateQueries({ queryKey: ["destinations", id] })
    onCreated(created)
  }
  return <DestinationForm isOfAlerts={id === undefined} save={create} onClose={onClose} />
}
