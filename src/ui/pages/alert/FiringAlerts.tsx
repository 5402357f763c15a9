import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { describeMeasured, pausedCondition } from "../../../domain/alert/AlertCondition.ts"
import { useAlerts } from "../../api/Queries.ts"
import { Notice } from "../../components/Notice.tsx"
import { RelativeTime } from "../../format/Time.tsx"

/** The alerts of a webhook now; nothing without any. */
export const FiringAlerts = ({ webhook_id }: { readonly webhook_id: string }) => {
  // The page says in its own words that the webhook is paused.
  const alerts = (useAlerts({ state: "firing", webhook_id }).data ?? []).filter(
    ({ condition }) => condition !== pausedCondition
  )
  if (alerts.length === 0) return null
  return (
    <Notice tone="danger">
      {alerts.map(({ condition, destination_id, id, since, value }) => (
        <p key={id}>
          <Link to={pathTo("alerts")}>Alert</Link>: {destination_id !== undefined && "a destination "}
          {describeMeasured(condition, value)}, since <RelativeTime at={since} />
        </p>
      ))}
    </Notice>
  )
}
