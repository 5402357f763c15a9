import { useQuery } from "@tanstack/react-query"
import { pathTo } from "../../../api/Pages.ts"
import { ofKept } from "../../../domain/request/Payload.ts"
import { guess } from "../../../recipes/Guess.ts"
import { recipes, serviceOf } from "../../../recipes/Recipes.ts"
import { storedRequestQuery, useReceived } from "../../api/Queries.ts"
import type { ReceivedRequest, Webhook } from "../../api/Types.ts"
import { LinkButton } from "../../components/Button.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { RawText } from "../../components/RawText.tsx"
import { ServiceMark } from "../../components/ServiceMark.tsx"
import { formatNumber } from "../../format/Format.ts"
import { RelativeTime } from "../../format/Time.tsx"

/** The number of requests that are shown. */
const most = 5

/** The requests that a listening webhook has received, and the way to make it one that starts runs. */
const Listening = ({ webhook }: { readonly webhook: Webhook }) => (
  <section className="card stack" aria-label="Listening">
    <h2>Listening</h2>
    <Loaded query={useReceived(webhook.id)}>
      {({ data }) => (
        <div role="status" className="stack">
          {data.length === 0 ? (
            <p className="muted">Waiting for the first request to the trigger URL. It starts no run.</p>
          ) : (
            <ul className="refused-list" aria-label="Requests, newest first">
              {data.slice(0, most).map((request, n) => (
                <Heard key={request.request_id} webhook={webhook} request={request} isNewest={n === 0} />
              ))}
            </ul>
          )}
        </div>
      )}
    </Loaded>
  </section>
)

const Heard = ({
  webhook,
  request: { client_address, code, detail, received_at, request_id, size },
  isNewest
}: {
  readonly webhook: Webhook
  readonly request: ReceivedRequest
  readonly isNewest: boolean
}) => {
  const stored = useQuery(storedRequestQuery(webhook.id, request_id)).data
  const isHeard = code === "ignored"
  const name = stored && isHeard ? guess({ headers: stored.headers ?? {}, payload: ofKept(stored) }) : undefined
  const recipe = name && recipes[name]
  const edit = pathTo("editWebhook", webhook)
  return (
    <li className="refused stack tight">
      <div className="row between">
        <span className="row grow">
          {recipe && <ServiceMark preset={recipe.verification.preset} />}
          {recipe ? `From ${serviceOf(recipe)}` : isHeard ? "From a service that is not known" : detail}
        </span>
        {isHeard && stored && (
          <LinkButton
            needs="webhooks.edit"
            {...(isNewest && { variant: "primary" })}
            compact
            to={`${edit}?${new URLSearchParams({ request: request_id, ...(name && { from: name }) })}`}
          >
            Make the webhook from it
          </LinkButton>
        )}
      </div>
      <p className="small muted">
        <RelativeTime at={received_at} /> from {client_address}, {formatNumber(size)} bytes
      </p>
      {stored?.body !== undefined && (
        <details open={isNewest}>
          <summary>Body</summary>
          <RawText text={stored.body} title="As it came" what={`Body of request ${request_id.slice(-8)}`} />
        </details>
      )}
    </li>
  )
}

export default Listening
