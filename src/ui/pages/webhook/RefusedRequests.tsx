import { useRefused } from "../../api/Queries.ts"
import type { ReceivedRequest, Webhook } from "../../api/Types.ts"
import { Loaded } from "../../components/Loaded.tsx"
import { RawText } from "../../components/RawText.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { formatNumber } from "../../format/Format.ts"
import { RelativeTime } from "../../format/Time.tsx"

const Request = ({ request }: { readonly request: ReceivedRequest }) => (
  <li className="refused">
    <div className="row between">
      <span className="mono nowrap">{request.status}</span>
      <span className="grow">
        <span className="mono">{request.code}</span> <bdi className="muted">{showDirectionMarks(request.detail)}</bdi>
      </span>
      <span className="small muted nowrap">
        <RelativeTime at={request.received_at} />
      </span>
    </div>
    <p className="small muted">
      From {request.client_address}, {formatNumber(request.size)} bytes
      {request.repeats > 0 && `, and ${formatNumber(request.repeats)} more like it`}
    </p>
    {request.body !== undefined && (
      <details>
        <summary>Body</summary>
        <RawText text={request.body} title="The first 2 KB" what={`Body of request ${request.request_id.slice(-8)}`} />
      </details>
    )}
  </li>
)

const List = ({ label, requests }: { readonly label: string; readonly requests: ReadonlyArray<ReceivedRequest> }) => (
  <ul className="refused-list" aria-label={label}>
    {requests.map((request) => (
      <Request key={request.request_id} request={request} />
    ))}
  </ul>
)

const isIgnored = ({ code }: ReceivedRequest): boolean => code === "ignored"

/** The rejected requests of the last 24 hours. */
export const RefusedRequests = ({ webhook }: { readonly webhook: Webhook }) => {
  const refused = useRefused(webhook.id)
  return (
    <section className="card stack" aria-label="Rejected requests">
      <h2>Rejected requests</h2>
      <Loaded query={refused}>
        {({ data }) =>
          data.every(isIgnored) ? (
            <p className="muted">No rejected requests in the last 24 hours.</p>
          ) : (
            <>
              <List label="Rejected requests, newest first" requests={data.filter((one) => !isIgnored(one))} />
              {(webhook.store_requests ?? "none") === "none" && (
                <p className="small muted">To see their content, set “Store requests” under Edit.</p>
              )}
            </>
          )
        }
      </Loaded>
    </section>
  )
}

/** The number of requests that were ignored in the last 24 hours, and the newest of them. Without a filter, there are rarely any. */
export const IgnoredRequests = ({ webhook }: { readonly webhook: Webhook }) => {
  const received = useRefused(webhook.id)
  if (webhook.accept_if === undefined && (received.data?.ignored ?? 0) === 0) return null
  return (
    <section className="card stack" aria-label="Ignored requests">
      <h2>Ignored requests</h2>
      <Loaded query={received}>
        {({ data, ignored }) =>
          ignored === 0 ? (
            <p className="muted">No ignored requests in the last 24 hours.</p>
          ) : (
            <>
              <p>
                {ignored === 1 ? "1 request was" : `${formatNumber(ignored)} requests were`} ignored in the last 24
                hours.
              </p>
              <List label="Ignored requests, newest first" requests={data.filter(isIgnored)} />
              {webhook.store_requests !== "all" && (
                <p className="small muted">To see their content, set “Store requests” to “all” under Edit.</p>
              )}
            </>
          )
        }
      </Loaded>
    </section>
  )
}
