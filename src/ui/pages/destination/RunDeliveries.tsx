import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { useDeliveries } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { plural } from "../../format/Format.ts"
import { DeliveryBadge } from "./Deliveries.tsx"

/** What was sent of this run; nothing without destinations. */
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
