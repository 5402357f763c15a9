import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { Activity, Team, Webhook } from "../../api/Types.ts"
import { Icon } from "../../components/Icon.tsx"
import { sumCounts, summarizeCounts } from "../../components/run/Counts.ts"
import { TeamStatus } from "../../components/run/Status.tsx"
import { ServiceMark } from "../../components/ServiceMark.tsx"
import { UserText } from "../../components/UserText.tsx"
import { RelativeTime } from "../../format/Time.tsx"
import { ActivityBars } from "./ActivityBars.tsx"
import { WebhookToggle } from "./WebhookToggle.tsx"

export const WebhookRow = ({
  webhook,
  team,
  activity,
  most
}: {
  readonly webhook: Webhook
  readonly team: Team | undefined
  readonly activity: Activity | undefined
  readonly most: number
}) => {
  const counts = activity && summarizeCounts(sumCounts(activity.hours))
  return (
    <div className={webhook.enabled ? "webhook" : "webhook off"}>
      <div className="webhook-name row">
        <span className="marked">
          {webhook.verification && <ServiceMark preset={webhook.verification.preset} titled />}
          <Link to={pathTo("webhook", webhook)}>
            <UserText>{webhook.name}</UserText>
          </Link>
        </span>
        {webhook.paused_at !== undefined && (
          <span className="badge warning">
            <Icon name="pause" />
            Paused
          </span>
        )}
      </div>
      <span className="webhook-team row small">
        <Link className="muted" to={pathTo("team", webhook)}>
          {webhook.team}
        </Link>
        <TeamStatus team={team} />
        {webhook.shares === undefined ? (
          <span className="muted mono">{webhook.token_hint}</span>
        ) : (
          <span className="muted">shared URL</span>
        )}
      </span>
      <div className="webhook-activity">
        <ActivityBars activity={activity} most={most} />
        <span className="small muted">{counts ?? "no runs in 24 h"}</span>
      </div>
      <div className="webhook-last small muted">
        {webhook.last_triggered_at ? <RelativeTime at={webhook.last_triggered_at} /> : "never triggered"}
      </div>
      <WebhookToggle webhook={webhook} label={`${webhook.name} is ${webhook.enabled ? "on" : "off"}`} />
    </div>
  )
}
