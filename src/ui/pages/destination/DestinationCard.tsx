import { useState } from "react"
import { secretOverlapSeconds } from "../../../api/webhook/Overlap.ts"
import { kindOf } from "../../../domain/delivery/DestinationKind.ts"
import { destinationsOf } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { DeliveryAttempt, Destination, DestinationWithSecret } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { Icon } from "../../components/Icon.tsx"
import { Notice } from "../../components/Notice.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { UserText } from "../../components/UserText.tsx"
import { ExactTime, NextAttempt } from "../../format/Time.tsx"
import { type DestinationFields, DestinationForm } from "./DestinationForm.tsx"
import { DestinationTitle, eventNames, useDestinationNames } from "./DestinationName.tsx"
import { ResendFailed } from "./ResendFailed.tsx"

const State = ({ destination }: { readonly destination: Destination }) =>
  !destination.enabled ? (
    <span className="badge warning">
      <Icon name="pause" />
      Off
    </span>
  ) : destination.paused ? (
    <span className="badge warning">
      <Icon name="pause" />
      Paused
    </span>
  ) : destination.failing_since === undefined ? (
    <span className="badge success">
      <Icon name="check" />
      On
    </span>
  ) : (
    <span className="badge danger">
      <Icon name="warning" />
      Failing
    </span>
  )

const reasons = {
  gone: "It was switched off because it answered 410 Gone.",
  failing: "It was paused because it failed for five days. Its events are kept."
} as const

export const DestinationCard = ({
  destination,
  onSecret
}: {
  readonly destination: Destination
  readonly onSecret: (created: DestinationWithSecret) => void
}) => {
  const {
    description,
    disabled_reason,
    enabled,
    events,
    failing_since,
    kind,
    paused = false,
    paused_until,
    target
  } = destination
  const name = useDestinationNames()(destination)
  const path = { id: destination.webhook_id ?? "", destination_id: destination.id }
  const api = destinationsOf(destination.webhook_id)
  const [open, setOpen] = useState<"delete" | "secret" | "edit" | "resend">()
  const [tested, setTested] = useState<DeliveryAttempt>()
  const [testing, setTesting] = useState(false)
  const refresh = () => queries.invalidateQueries({ queryKey: ["destinations", destination.webhook_id] })
  const act = async (action: () => Promise<unknown>) => {
    try {
      await runAction(action)
      await refresh()
    } catch (error) {
      toastFailure(explain(error).title)
    }
  }
  const test = () =>
    act(async () => {
      setTesting(true)
      try {
        setTested(await api.test({ path }))
      } finally {
        setTesting(false)
      }
    })
  const replaceSecret = async () => {
    onSecret(await runAction(() => api.rotateSecret({ path, query: { overlap_seconds: secretOverlapSeconds } })))
    setOpen(undefined)
    await refresh()
  }
  const edit = async ({ description, kind: _, ...fields }: DestinationFields) => {
    const payload = { ...fields, description: description === "" ? null : description }
    await runAction(() => api.edit({ path, payload: payload as never }))
    setOpen(undefined)
    await refresh()
  }
  const remove = async () => {
    await runAction(() => api.delete({ path }))
    setOpen(undefined)
    await refresh()
    toast("Destination deleted")
  }
  return (
    <li className="refused stack tight">
      <div className="row between">
        <DestinationTitle destination={destination} />
        <State destination={destination} />
      </div>
      {description !== undefined && (
        <p className="small">
          <UserText>{description}</UserText>
        </p>
      )}
      {kind !== "webhook" && (
        <p className="small">
          {kindOf(kind).label}
          {target !== undefined && kind !== "chain" && (
            <>
              : <span className="mono">{target}</span>
            </>
          )}
        </p>
      )}
      <p className="small muted">
        {events.map((event) => eventNames[event]).join(", ")}
        {failing_since !== undefined && (
          <>
            . Failing since <ExactTime at={failing_since} />
            {paused_until !== undefined && <NextAttempt at={paused_until} />}
          </>
        )}
      </p>
      {disabled_reason !== undefined && <Notice tone="warning">{reasons[disabled_reason]}</Notice>}
      {tested !== undefined && (
        <Notice tone={tested.error === undefined ? "neutral" : "danger"}>
          {tested.error === undefined
            ? `The test event was delivered: status ${tested.http_status}, ${tested.duration_ms} ms.`
            : `The test event was not delivered: ${tested.error}.`}
        </Notice>
      )}
      <div className="row">
        <Button
          needs="destinations.test"
          compact
          pending={testing}
          label={`Send a test to ${name}`}
          onPress={() => void test()}
        >
          Send a test
        </Button>
        <Button needs="destinations.edit" compact label={`Edit ${name}`} onPress={() => setOpen("edit")}>
          Edit
        </Button>
        {enabled && (
          <Button
            needs="destinations.resendFailed"
            compact
            label={`Resend failed deliveries of ${name}`}
            onPress={() => setOpen("resend")}
          >
            Resend failed
          </Button>
        )}
        {enabled && (
          <Button
            needs="destinations.edit"
            compact
            label={`${paused ? "Resume" : "Pause"} ${name}`}
            onPress={() => void act(() => api.edit({ path, payload: { paused: !paused } }))}
          >
            {paused ? "Resume" : "Pause"}
          </Button>
        )}
        <Button
          needs="destinations.edit"
          compact
          label={`Switch ${enabled ? "off" : "on"} ${name}`}
          onPress={() => void act(() => api.edit({ path, payload: { enabled: !enabled } }))}
        >
          {enabled ? "Switch off" : "Switch on"}
        </Button>
        {kindOf(kind).sends === "event" && (
          <Button
            needs="destinations.rotateSecret"
            compact
            label={`Replace secret of ${name}`}
            onPress={() => setOpen("secret")}
          >
            Replace secret
          </Button>
        )}
        <Button
          needs="destinations.delete"
          compact
          variant="danger"
          label={`Delete ${name}`}
          onPress={() => setOpen("delete")}
        >
          Delete
        </Button>
      </div>
      {open === "edit" && (
        <DestinationForm
          isOfAlerts={destination.webhook_id === undefined}
          destination={destination}
          save={edit}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === "resend" && <ResendFailed destination={destination} onClose={() => setOpen(undefined)} />}
      {open === "secret" && (
        <ConfirmDialog
          title="Replace the signing secret?"
          action="Replace"
          harmless
          onConfirm={replaceSecret}
          onClose={() => setOpen(undefined)}
        >
          <p>For a day, deliveries are signed with both secrets. Then only the new one is used.</p>
        </ConfirmDialog>
      )}
      {open === "delete" && (
        <ConfirmDialog
          title="Delete this destination?"
          action="Delete"
          onConfirm={remove}
          onClose={() => setOpen(undefined)}
        >
          <p>Its deliveries are deleted, too. Pending ones are not sent.</p>
        </ConfirmDialog>
      )}
    </li>
  )
}
