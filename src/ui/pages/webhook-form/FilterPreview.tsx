import { useEffect, useState } from "react"
import { TextField } from "../../components/form/TextField.tsx"
import { Notice } from "../../components/Notice.tsx"

/** The filter's result, or its error. */
type Result = { readonly accepted: boolean } | { readonly failed: string }

const parseInput = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Tests the filter with the sample values or with pasted ones. */
export const FilterPreview = ({ expression, samples }: { readonly expression: string; readonly samples: unknown }) => {
  const [pasted, setPasted] = useState("")
  const [result, setResult] = useState<Result>()
  const input = pasted.trim() === "" ? samples : parseInput(pasted)
  const inputText = JSON.stringify(input)

  useEffect(() => {
    let isCurrent = true
    const show = (next: Result | undefined) => {
      if (isCurrent) setResult(next)
    }
    // JMESPath is 9 KB of compressed JavaScript, and few webhooks use it.
    if (inputText === undefined) show(undefined)
    else
      void import("../../../domain/prompt/Filter.ts").then(({ filter }) =>
        show(filter(expression, JSON.parse(inputText)))
      )
    return () => {
      isCurrent = false
    }
  }, [expression, inputText])

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
      {result === undefined ? null : "failed" in result ? (
        <Notice tone="warning">Such a request is rejected: {result.failed}</Notice>
      ) : (
        <Notice>Such a request is {result.accepted ? "accepted" : "ignored: it starts no run"}.</Notice>
      )}
    </div>
  )
}
