import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { DestinationEvent } from "../../../domain/delivery/DestinationEvent.ts"
import { useWebhooks } from "../../api/Queries.ts"
import type { Destination } from "../../api/Types.ts"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"

type Named = Pick<Destination, "kind" | "target" | "url">

/** The names of destinations in labels: the URL, or the webhook that it starts. */
export const useDestinationNames = (): ((destination: Named) => string) => {
  const { data } = useWebhooks()
  return ({ kind, target, url }) => {
    if (kind !== "chain" || target === undefined) return url
    const webhook = data?.find(({ id }) => id === target)
    return webhook ? showDirectionMarks(webhook.name) : target
  }
}

/** The same, as a title with a link. */
export const DestinationTitle = ({ destination }: { readonly destination: Named }) => {
  const name = useDestinationNames()(destination)
  if (destination.kind !== "chain" || destination.target === undefined) return <span className="mono grow">{name}</span>
  return (
    <Link className="grow" to={pathTo("webhook", { id: destination.target })}>
      <UserText>{name}</UserText>
    </Link>
  )
}

/** How the UI names each event. A missing one does not compile. */
export const eventNames: { readonly [E in DestinationEvent]: string } = {
  "run.awaiting_approval": "Waiting for approval",
  "run.started": "Started",
  "run.succeeded": "Succeeded",
  "run.failed": "Failed",
  "run.timed_out": "Timed out",
  "run.cancelled": "Cancelled",
  "alert.firing": "Alert",
  "alert.resolved": "Resolved"
}
