import { useState } from "react"
import { destinationsOf } from "../../api/Client.ts"
import { queries, runAction, useDestinations } from "../../api/Queries.ts"
import type { DestinationWithSecret } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { CopyButton } from "../../components/CopyButton.tsx"
import { Guide } from "../../components/Guide.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { Notice } from "../../components/Notice.tsx"
import { Deliveries } from "./Deliveries.tsx"
import { DestinationCard } from "./DestinationCard.tsx"
import { type DestinationFields, DestinationForm } from "./DestinationForm.tsx"

/** Where the ends of a webhook's runs are sent, or without a webhook alerts, and what was sent. */
export const Destinations = ({ webhook_id }: { readonly webhook_id?: string }) => {
  const destinations = useDestinations(webhook_id)
  const title = webhook_id === undefined ? "Alert destinations" : "Destinations"
  const [adding, setAdding] = useState(false)
  const [shown, setShown] = useState<DestinationWithSecret>()
  const create = async ({ description, ...fields }: DestinationFields) => {
    const payload = { ...fields, ...(description !== "" && { description }) }
    const path = webhook_id === undefined ? {} : { id: webhook_id }
    const created = await runAction(() => destinationsOf(webhook_id).create({ path, payload: payload as never }))
    await queries.invalidateQueries({ queryKey: ["destinations", webhook_id] })
    setShown(created)
    setAdding(false)
  }
  return (
    <>
      <section className="card stack" aria-label={title}>
        <div className="row between">
          <h2>{title}</h2>
          <Button needs="destinations.create" compact icon="plus" onPress={() => setAdding(true)}>
            Add destination
          </Button>
        </div>
        <p className="muted small">
          {webhook_id === undefined ? "When an alert begins or is resolved" : "When a run ends"}, each destination gets
          a signed event or a message, at least once and always under the same ID.{" "}
          <Guide page="use/destinations.md">About destinations</Guide>
        </p>
        {shown?.secret !== undefined && <NewSecret created={shown} onClose={() => setShown(undefined)} />}
        <Loaded query={destinations}>
          {({ data }) =>
            data.length === 0 ? (
              <p className="muted">No destinations yet.</p>
            ) : (
              <ul className="refused-list" aria-label="Destinations, oldest first">
                {data.map((destination) => (
                  <DestinationCard key={destination.id} destination={destination} onSecret={setShown} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <Deliveries webhook_id={webhook_id} destinations={destinations.data?.data ?? []} />
      {adding && (
        <DestinationForm isOfAlerts={webhook_id === undefined} save={create} onClose={() => setAdding(false)} />
      )}
    </>
  )
}

/** The signing secret, once. */
const NewSecret = ({ created, onClose }: { readonly created: DestinationWithSecret; readonly onClose: () => void }) => (
  <Notice tone="neutral">
    <div className="stack tight">
      <p>
        The signing secret for <span className="mono">{created.destination.url}</span>. It is shown only once.
      </p>
      <p className="row">
        <span className="mono">{created.secret}</span>
        <CopyButton text={created.secret ?? ""} what="the signing secret" />
        <Button compact variant="quiet" onPress={onClose}>
          Done
        </Button>
      </p>
    </div>
  </Notice>
)
