import { type FormEvent, useState } from "react"
import { destinationsOf } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Destination } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Dialog } from "../../components/Dialog.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { Notice } from "../../components/Notice.tsx"
import { toast } from "../../components/Toasts.tsx"
import { plural } from "../../format/Format.ts"

const hour = 3_600_000

const periods = [
  ["hour", "the last hour", hour],
  ["day", "the last 24 hours", 24 * hour],
  ["week", "the last 7 days", 7 * 24 * hour],
  ["all", "any time", undefined]
] as const
type Period = (typeof periods)[number][0]

const options = periods.map(([period, label]) => [period, label] as const)

const startOf = (period: Period): string => {
  const length = periods.find(([each]) => each === period)?.[2]
  return new Date(length === undefined ? 0 : Date.now() - length).toISOString()
}

/** Sends all deliveries of a destination again that failed in a period. */
export const ResendFailed = ({
  destination: { id, webhook_id },
  onClose
}: {
  readonly destination: Destination
  readonly onClose: () => void
}) => {
  const [period, setPeriod] = useState<Period>("day")
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (pending) return
    setPending(true)
    try {
      const path = { id: webhook_id ?? "", destination_id: id }
      const query = { since: startOf(period) }
      const { resent } = await runAction(() => destinationsOf(webhook_id).resendFailed({ path, query }))
      await queries.invalidateQueries({ queryKey: ["deliveries", webhook_id] })
      toast(
        resent === 0 ? "No delivery failed in this period" : `Sending ${plural(resent, "delivery", "deliveries")} again`
      )
      onClose()
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  return (
    <Dialog title="Resend failed deliveries" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <SelectField label="Failed in" value={period} onChange={setPeriod} options={options} />
        {error !== undefined && <Notice tone="danger">{explain(error).title}</Notice>}
        <div className="row end">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={pending}>
            Resend
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
