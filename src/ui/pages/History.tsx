import { useRuns } from "../api/Queries.ts"
import type { RunStatus, Webhook } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { Choice } from "../components/Field.tsx"
import { Loaded } from "../components/Page.tsx"
import { RunList } from "../components/RunList.tsx"
import { statusText } from "../components/Status.tsx"
import { useAddress } from "../frame/Address.ts"

const statuses: ReadonlyArray<RunStatus> = ["queued", "running", "success", "error", "timeout"]

/** A day in the reader's time zone, as an instant; `days` later. */
const instant = (date: string, days = 0): string | undefined => {
  const [year, month, day] = date.split("-").map(Number)
  if (!year || !month || !day) return undefined
  return new Date(year, month - 1, day + days).toISOString()
}

const Day = ({
  label,
  value,
  onChange
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) => (
  <label className="field">
    <span className="label">{label}</span>
    <input type="date" className="input" value={value} onChange={(event) => onChange(event.target.value)} />
  </label>
)

/** The runs of a webhook, newest first, a page at a time. All choices stand in the address. */
export const History = ({ webhook }: { readonly webhook: Webhook }) => {
  const address = useAddress()
  const status = statuses.find((each) => each === address.get("status"))
  const [from, to] = [instant(address.get("from")), instant(address.get("to"), 1)]
  const cursor = address.get("cursor")
  const runs = useRuns(webhook.id, {
    ...(status ? { status } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
    ...(cursor ? { cursor } : {})
  })
  const filtered = status !== undefined || from !== undefined || to !== undefined
  const choose = (values: Record<string, string>) => address.set({ ...values, cursor: "" })
  return (
    <section className="card stack" aria-label="Run history">
      <h2>Run history</h2>
      <div className="filters dates">
        <Choice
          label="Status"
          value={status ?? ""}
          onChange={(value) => choose({ status: value })}
          options={[["", "Every status"], ...statuses.map((each) => [each, statusText(each)] as const)]}
        />
        <Day label="From" value={address.get("from")} onChange={(value) => choose({ from: value })} />
        <Day label="To" value={address.get("to")} onChange={(value) => choose({ to: value })} />
        {filtered && (
          <Button look="quiet" onPress={() => choose({ status: "", from: "", to: "" })}>
            Show all
          </Button>
        )}
      </div>
      <Loaded from={runs}>
        {({ data, next_cursor }) => (
          <div className={runs.isPlaceholderData ? "stack stale" : "stack"} aria-busy={runs.isPlaceholderData}>
            {data.length === 0 ? (
              <div className="empty">
                <p>{filtered || cursor ? "No run matches." : "No runs yet. Send a test above, or call the webhook."}</p>
              </div>
            ) : (
              <RunList runs={data} label="Runs, newest first" />
            )}
            {(cursor !== "" || next_cursor !== null) && (
              <nav className="row between" aria-label="Pages of the history">
                <Button icon="back" disabled={cursor === ""} onPress={() => address.set({ cursor: "" })}>
                  Newest
                </Button>
                <Button disabled={next_cursor === null} onPress={() => address.set({ cursor: next_cursor ?? "" })}>
                  Older
                </Button>
              </nav>
            )}
          </div>
        )}
      </Loaded>
    </section>
  )
}
