import { useState } from "react"
import { keptBody } from "../../../domain/request/KeptBody.ts"
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

/** One of the webhook's last requests, in place of a sample that is pasted. */
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
  // It may have made way for newer ones since.
  const isGone = picked !== undefined && listed.every(({ request_id }) => request_id !== picked.request_id)
  const kept = isGone ? [...listed, picked] : listed
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
  const keeps = webhook.keep_bodies === "all"
  if (received.data !== undefined && kept.length === 0) {
    return (
      <p className="small muted">
        {keeps
          ? "No request was kept in the last day. The next one can be used here."
          : "To use a received request here, choose “all” as “Kept bodies”: the next ones are kept for a day."}
      </p>
    )
  }
  return (
    <>
      <SelectField
        label="Use a received request"
        value={picked?.request_id ?? ""}
        onChange={(request_id) => void pick(request_id)}
        options={[["", "Choose one of the last"], ...kept.map((each) => [each.request_id, textOf(each)] as const)]}
      />
      {picked !== undefined && picked.size > keptBody && (
        <p className="small muted">Its body was longer than 64 KB: the beginning was kept, and is used as a text.</p>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  )
}
