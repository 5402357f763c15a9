import { useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { destinationsOf } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction, useDeliveries } from "../../api/Queries.ts"
import type { Delivery, DeliveryAttempt, DeliveryStatus, Destination, Run } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { Icon, type IconName } from "../../components/Icon.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import type { Tone } from "../../components/Notice.tsx"
import { RawText } from "../../components/RawText.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { plural } from "../../format/Format.ts"
import { ExactTime, NextAttempt, RelativeTime } from "../../format/Time.tsx"
import { eventNames, useDestinationNames } from "./DestinationName.tsx"

const states: {
  readonly [S in DeliveryStatus]: { readonly icon: IconName; readonly label: string; readonly tone: Tone }
} = {
  pending: { icon: "clock", label: "Pending", tone: "info" },
  delivered: { icon: "check", label: "Delivered", tone: "success" },
  failed: { icon: "cross", label: "Failed", tone: "danger" }
}

const DeliveryBadge = ({ status }: { readonly status: DeliveryStatus }) => {
  const { icon, label, tone } = states[status]
  return (
    <span className={`badge ${tone}`}>
      <Icon name={icon} />
      {label}
    </span>
  )
}

type Filter = DeliveryStatus | ""

const filters: ReadonlyArray<readonly [Filter, string]> = [
  ["", "All"],
  ["pending", "Pending"],
  ["failed", "Failed"],
  ["delivered", "Delivered"]
]

/** The deliveries to the destinations of a webhook, or of alerts, newest first. */
export const Deliveries = ({
  webhook_id,
  destinations
}: {
  readonly webhook_id: string | undefined
  readonly destinations: ReadonlyArray<Destination>
}) => {
  const nameOf = useDestinationNames()
  const [status, setStatus] = useState<Filter>("")
  const [destination_id, setDestination] = useState("")
  const [cursors, setCursors] = useState<ReadonlyArray<string>>([])
  const cursor = cursors.at(-1)
  const page = useDeliveries(webhook_id, {
    ...(status !== "" && { status }),
    ...(destination_id !== "" && { destination_id }),
    ...(cursor !== undefined && { cursor })
  })
  return (
    <section className="card stack" aria-label="Deliveries">
      <div className="row between">
        <h2>Deliveries</h2>
        <div className="row">
          {destinations.length > 1 && (
            <SelectField
              label="Destination"
              hideLabel
              value={destination_id}
              onChange={(value) => {
                setDestination(value)
                setCursors([])
              }}
              options={[["", "All destinations"], ...destinations.map((each) => [each.id, nameOf(each)] as const)]}
            />
          )}
          <SelectField
            label="State"
            hideLabel
            value={status}
            onChange={(value) => {
              setStatus(value)
              setCursors([])
            }}
            options={filters}
          />
        </div>
      </div>
      <Loaded query={page}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <p className="muted">Nothing was sent yet.</p>
            ) : (
              <ul className="refused-list" aria-label="Deliveries, newest first">
                {data.map((delivery) => (
                  <Entry
                    key={delivery.id}
                    delivery={delivery}
                    destination={destinations.find(({ id }) => id === delivery.destination_id)}
                  />
                ))}
              </ul>
            )}
            <div className="row">
              {cursors.length > 0 && (
                <Button compact onPress={() => setCursors(cursors.slice(0, -1))}>
                  Newer
                </Button>
              )}
              {next_cursor !== null && (
                <Button compact onPress={() => setCursors([...cursors, next_cursor])}>
                  Older
                </Button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </section>
  )
}

const Entry = ({
  delivery,
  destination
}: {
  readonly delivery: Delivery
  readonly destination: Destination | undefined
}) => {
  const nameOf = useDestinationNames()
  const { attempts, event, id, next_attempt_at, run_id, status, webhook_id } = delivery
  const resend = async () => {
    try {
      await runAction(() => destinationsOf(webhook_id).resend({ path: { id: webhook_id ?? "", delivery_id: id } }))
      await queries.invalidateQueries({ queryKey: ["deliveries", webhook_id] })
      toast("The delivery is sent again")
    } catch (error) {
      toastFailure(explain(error).title)
    }
  }
  return (
    <li className="refused stack tight">
      <div className="row between">
        <span className="grow">
          <DeliveryBadge status={status} />{" "}
          <span className="small muted">
            Event:{" "}
            {run_id === undefined ? eventNames[event] : <Link to={pathTo("run", { run_id })}>{eventNames[event]}</Link>}
            , <RelativeTime at={delivery.created_at} />
          </span>
        </span>
      </div>
      <p className="small muted">
        {destination && nameOf(destination)}, {plural(attempts.length, "attempt")}
        {next_attempt_at !== undefined && <NextAttempt at={next_attempt_at} />}
      </p>
      {attempts.length > 0 && (
        <details>
          <summary>Attempts</summary>
          <ol className="stack tight">
            {attempts.map((attempt) => (
              <Attempt key={attempt.at} attempt={attempt} />
            ))}
          </ol>
        </details>
      )}
      {(status !== "pending" || attempts.length > 0) && (
        <div className="row">
          <Button needs="destinations.resend" compact label={`Resend ${id}`} onPress={() => void resend()}>
            Resend
          </Button>
        </div>
      )}
    </li>
  )
}

const Attempt = ({
  attempt: { answer, at, duration_ms, error, http_status }
}: {
  readonly attempt: DeliveryAttempt
}) => (
  <li className="stack tight">
    <span className="small">
      <ExactTime at={at} />: {error ?? `status ${http_status}`}, {duration_ms} ms
    </span>
    {answer !== undefined && answer !== "" && <RawText text={answer} title="Answer" what="the answer" />}
  </li>
)

/** The deliveries of this run; nothing without destinations. */
export const RunDeliveries = ({ run: { run_id, webhook_id } }: { readonly run: Run }) => {
  const page = useDeliveries(webhook_id, { run_id }, webhook_id !== undefined)
  const deliveries = page.data?.data ?? []
  if (webhook_id === undefined || deliveries.length === 0) return null
  return (
    <section className="card stack tight" aria-label="Deliveries">
      <h2>Deliveries</h2>
      <ul className="stack tight">
        {deliveries.map(({ attempts, id, status }) => (
          <li key={id} className="row">
            <DeliveryBadge status={status} />
            <span className="small muted">
              {plural(attempts.length, "attempt")}
              {attempts.at(-1)?.error !== undefined && `, the last one: ${attempts.at(-1)?.error}`}
              {attempts.at(-1)?.started_run !== undefined && (
                <>
                  , started <Link to={pathTo("run", { run_id: attempts.at(-1)!.started_run! })}>another run</Link>
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      <p className="small">
        <Link to={`${pathTo("webhook", { id: webhook_id })}?tab=destinations`}>Destinations of the webhook</Link>
      </p>
    </section>
  )
}
