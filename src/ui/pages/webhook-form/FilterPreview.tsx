import { useQueries } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import * as Json from "../../../domain/Json.ts"
import { filter } from "../../../domain/prompt/Filter.ts"
import { type FilterInput, faultsOfFilter } from "../../../domain/prompt/FilterFaults.ts"
import { reasonOf } from "../../../domain/prompt/FilterReason.ts"
import { ofKept } from "../../../domain/request/Payload.ts"
import { storedRequestQuery, useReceived } from "../../api/Queries.ts"
import type { ReceivedRequest, Webhook } from "../../api/Types.ts"
import { TextField } from "../../components/form/TextField.tsx"
import { Notice } from "../../components/Notice.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { withCode } from "../../components/WithCode.tsx"
import { RelativeTime } from "../../format/Time.tsx"

const parseInput = (text: string): unknown => {
  try {
    return Json.parse(text)
  } catch {
    return undefined
  }
}

/** Tests the filter with the sample values or with pasted ones, and with the stored requests. */
const FilterPreview = ({
  expression,
  samples,
  filterInput,
  webhook
}: {
  readonly expression: string
  readonly samples: unknown
  readonly filterInput: FilterInput
  /** Absent for a new webhook. */
  readonly webhook: Webhook | undefined
}) => {
  const [pasted, setPasted] = useState("")
  const input = pasted.trim() === "" ? samples : parseInput(pasted)
  const faults = faultsOfFilter(expression, filterInput)
  return (
    <div className="stack tight">
      <h3>Filter</h3>
      <TextField
        label="Test request"
        value={pasted}
        onChange={setPasted}
        multiline
        mono
        rows={2}
        placeholder={'{"branch": "main"}'}
        help="Test the filter with variables as JSON, or with payload, headers and query in one object. If empty, the sample values above are used."
        fault={pasted.trim() !== "" && input === undefined ? "This is not JSON." : undefined}
      />
      {faults.length > 0 ? (
        <Notice tone="warning">
          {faults.map((fault) => (
            <p key={fault}>{withCode(fault)}</p>
          ))}
        </Notice>
      ) : (
        <>
          {input !== undefined && <Result expression={expression} input={input} />}
          {webhook && <FilteredRequests expression={expression} webhook={webhook} />}
        </>
      )}
    </div>
  )
}

/** Whether the input is accepted, and why not. */
const Result = ({ expression, input }: { readonly expression: string; readonly input: unknown }) => {
  const text = Json.stringify(input)
  const { reason, result } = useMemo(() => {
    const value = Json.parse(text)
    return { result: filter(expression, value), reason: reasonOf(expression, value) }
  }, [expression, text])
  if ("failed" in result) return <Notice tone="warning">Such a request is rejected: {result.failed}</Notice>
  if (result.accepted) return <Notice>Such a request is accepted.</Notice>
  return (
    <Notice>
      <p>Such a request is ignored: it starts no run.</p>
      {reason && (
        <>
          <p>
            <code>{reason.part}</code> does not hold.
          </p>
          {reason.values.map(({ json, name }) => (
            <p key={name} className="small muted">
              <code>{name}</code> {json === undefined ? "is missing" : <bdi>is {showDirectionMarks(json)}</bdi>}
            </p>
          ))}
        </>
      )}
    </Notice>
  )
}

/** So many of the newest are tested: each must be loaded. */
const mostRequests = 10

/** The input of the filter, as far as the request was stored. */
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

/** The results of the filter, as written now, for the webhook's stored requests. */
const FilteredRequests = ({ expression, webhook }: { readonly expression: string; readonly webhook: Webhook }) => {
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

export default FilterPreview
