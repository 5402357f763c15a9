import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { describeMeasured, pausedCondition } from "../../../domain/alert/AlertCondition.ts"
import { useAlerts } from "../../api/Queries.ts"
import type { Alert } from "../../api/Types.ts"
import { Icon } from "../../components/Icon.tsx"
import { Notice } from "../../components/Notice.tsx"
import { UserText } from "../../components/UserText.tsx"
import { RelativeTime } from "../../format/Time.tsx"

/** The page of what the alert is about. */
const Subject = ({ alert: { destination_id, name, team, webhook_id } }: { readonly alert: Alert }) => {
  if (webhook_id !== undefined) {
    const page = pathTo("webhook", { id: webhook_id })
    return (
      <Link to={destination_id === undefined ? page : `${page}?tab=destinations`}>
        <UserText>{name}</UserText>
      </Link>
    )
  }
  return team === undefined ? <UserText>{name}</UserText> : <Link to={pathTo("team", { team })}>{team}</Link>
}

/** An alert in a list. */
export const AlertItem = ({ alert }: { readonly alert: Alert }) => {
  const { condition, destination_id, resolved_at, since, state, value } = alert
  return (
    <li>
      <span>
        <Subject alert={alert} />: {destination_id !== undefined && "a destination "}
        {describeMeasured(condition, value)}
      </span>
      <span className="row small muted">
        <RelativeTime at={resolved_at ?? since} />
        <span className={`badge ${state === "firing" ? "danger" : "success"}`}>
          <Icon name={state === "firing" ? "warning" : "check"} />
          {state === "firing" ? "Firing" : "Resolved"}
        </span>
      </span>
    </li>
  )
}

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
