import { useQueries } from "@tanstack/react-query"
import { filter } from "../../../domain/prompt/Filter.ts"
import { ofKept } from "../../../domain/request/Payload.ts"
import { storedRequestQuery, useReceived } from "../../api/Queries.ts"
import type { ReceivedRequest, Webhook } from "../../api/Types.ts"
import { RelativeTime } from "../../format/Time.tsx"

/** So many of the newest are tested: each must be loaded. */
const mostRequests = 10

/** What the filter is evaluated on, as far as the request was stored. */
const inputOf = ({ input }: Webhook, request: ReceivedRequest): unknown => {
  const payload = ofKept(request)
  if (input === "payload") return { payload, headers: request.headers ?? {}, query: request.query ?? {} }
  return typeof payload === "object" && payload !== null && "variables" in payload ? payload.variables : {}
}

const wordOf = (expression: string, webhook: Webhook, request: ReceivedRequest): string => {
  const result = filter(expression, inputOf(webhook, request))
  if ("failed" in result) return "rejected"
  return result.accepted ? "accepted" : "ignored"
}

/** What the filter as it is written now says of the webhook's stored requests. */
export const FilteredRequests = ({
  expression,
  webhook
}: {
  readonly expression: string
  readonly webhook: Webhook
}) => {
  const received = useReceived(webhook.id)
  const stored = (received.data?.data ?? []).filter(({ body }) => body !== undefined).slice(0, mostRequests)
  const whole = useQueries({ queries: stored.map(({ request_id }) => storedRequestQuery(webhook.id, request_id)) })
  const requests = whole.flatMap(({ data }) => (data === undefined ? [] : [data]))
  if (requests.length === 0) return null
  return (
    <>
      <h4>Stored requests</h4>
      <ul className="plain small" aria-label="What the filter says of stored requests">
        {requests.map((request) => (
          <li key={request.request_id} className="row between">
            <RelativeTime at={request.received_at} />
            <span>{wordOf(expression, webhook, request)}</span>
          </li>
        ))}
      </ul>
    </>
  )
}
