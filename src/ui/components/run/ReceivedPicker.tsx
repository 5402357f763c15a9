import { useState } from "react"
import { storedBodyBytes } from "../../../domain/request/StoredBody.ts"
import { api } from "../../api/Client.ts"
import { runAction, useReceived } from "../../api/Queries.ts"
import type { ReceivedRequest, Webhook } from "../../api/Types.ts"
import { formatNumber } from "../../format/Format.ts"
import { formatTime } from "../../format/Time.tsx"
import { SelectField } from "../form/SelectField.tsx"
import { inputsOfRequest, type VariableInput } from "../form/VariableInput.ts"
import { ErrorNotice } from "../Notice.tsx"

const textOf = ({ code, received_at, size }: ReceivedRequest): string =>
  `${formatTime(received_at)}: ${code.replaceAll("_", " ")}, ${formatNumber(size)} bytes`

/** A stored request of the webhook as sample data. */
export const ReceivedPicker = ({
  webhook,
  onPick
}: {
  readonly webhook: Webhook
  readonly onPick: (inputs: ReadonlyArray<VariableInput>) => void
}) => {
  const received = useReceived(webhook.id)
  const [picked, setPicked] = useState<ReceivedRequest>()
  const [error, setError] = useState<unknown>()
  const listed = received.data?.data.filter(({ body }) => body !== undefined) ?? []
  // It may have been evicted by newer requests.
  const isEvicted = picked !== undefined && listed.every(({ request_id }) => request_id !== picked.request_id)
  const stored = isEvicted ? [...listed, picked] : listed
  const pick = async (request_id: string) => {
    setError(undefined)
    setPicked(undefined)
    if (request_id === "") return
    try {
      const request = await runAction(() => api.webhooks.request({ path: { id: webhook.id, request_id } }))
      setPicked(request)
      onPick(inputsOfRequest(request))
    } catch (cause) {
      setError(cause)
    }
  }
  const storesAll = webhook.store_requests === "all"
  if (received.data !== undefined && stored.length === 0) {
    return (
      <p className="small muted">
        {storesAll
          ? "No requests in the last 24 hours. You can use the next one here."
          : "To use received requests here, set “Store requests” to “all”. They are stored for 24 hours."}
      </p>
    )
  }
  return (
    <>
      <SelectField
        label="Use a received request"
        value={picked?.request_id ?? ""}
        onChange={(request_id) => void pick(request_id)}
        options={[["", "Choose a request"], ...stored.map((each) => [each.request_id, textOf(each)] as const)]}
      />
      {picked !== undefined && picked.size > storedBodyBytes && (
        <p className="small muted">Only the first 64 KB of the body were stored. They are used as text.</p>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  )
}
