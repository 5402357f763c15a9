import { useQuery } from "@tanstack/react-query"
import { storedBodyBytes } from "../../../domain/request/StoredBody.ts"
import { storedRequestQuery, useReceived } from "../../api/Queries.ts"
import type { Run, Webhook } from "../../api/Types.ts"
import { Loading } from "../../components/Loaded.tsx"
import { RawText } from "../../components/RawText.tsx"
import { UserText } from "../../components/UserText.tsx"
import { formatNumber } from "../../format/Format.ts"
import { ExactTime } from "../../format/Time.tsx"

/** The request that started the run, if it is stored. */
export const OriginalRequest = ({ run, webhook }: { readonly run: Run; readonly webhook: Webhook }) => {
  const received = useReceived(webhook.id)
  const listed = received.data?.data.find(({ run_id }) => run_id === run.run_id)
  const { data: request } = useQuery({
    ...storedRequestQuery(webhook.id, listed?.request_id ?? ""),
    enabled: listed !== undefined
  })
  if (received.data === undefined || (listed !== undefined && request === undefined)) {
    return <Loading lines={2} />
  }
  if (request === undefined) {
    return (
      <p className="small muted">
        {webhook.store_requests === "all"
          ? "Not stored: requests are stored for 24 hours, the newest 20 of each webhook. Its values are above."
          : "Not stored, because “Store requests” is not “all”. Its values are above."}
      </p>
    )
  }
  return (
    <>
      <p className="small muted">
        <ExactTime at={request.received_at} />, from <span className="mono">{request.client_address}</span>,{" "}
        {formatNumber(request.size)} bytes. Headers with secrets are never stored.
      </p>
      <Pairs title="Headers" pairs={request.headers} />
      <Pairs title="Query" pairs={request.query} />
      {request.body !== undefined && <RawText text={request.body} title="Body" what="the body of the request" />}
      {request.size > storedBodyBytes && <p className="small muted">Only the first 64 KB of the body are stored.</p>}
    </>
  )
}

const Pairs = ({
  title,
  pairs = {}
}: {
  readonly title: string
  readonly pairs: Readonly<Record<string, string | ReadonlyArray<string>>> | undefined
}) => {
  const entries = Object.entries(pairs)
  if (entries.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <dl className="values">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt className="mono">
              <UserText>{name}</UserText>
            </dt>
            <dd className="mono">
              <UserText>{[value].flat().join(", ")}</UserText>
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}
