import { useMemo, useState } from "react"
import * as Json from "../../../domain/Json.ts"
import { filter } from "../../../domain/prompt/Filter.ts"
import { type FilterInput, faultsOfFilter } from "../../../domain/prompt/FilterFaults.ts"
import { reasonOf } from "../../../domain/prompt/FilterReason.ts"
import type { Webhook } from "../../api/Types.ts"
import { TextField } from "../../components/form/TextField.tsx"
import { Notice } from "../../components/Notice.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { withCode } from "../../components/WithCode.tsx"
import { FilteredRequests } from "./FilteredRequests.tsx"

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

export default FilterPreview
