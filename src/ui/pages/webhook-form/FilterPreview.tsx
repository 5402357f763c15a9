import { useEffect, useState } from "react"
import { TextField } from "../../components/form/TextField.tsx"
import { Notice } from "../../components/Notice.tsx"

/** What the expression says: whether a trigger is accepted, or what is wrong. */
type Result = { readonly accepted: boolean } | { readonly failed: string }

const parseInput = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Tries `accept_if` on the sample values, or on variables that are pasted here. */
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
    // JMESPath is 9 KB of compressed JavaScript, for the few webhooks that use it.
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
      <h3>Accept only if</h3>
      <TextField
        label="What a trigger sends"
        value={pasted}
        onChange={setPasted}
        multiline
        mono
        rows={2}
        placeholder={'{"branch": "main"}'}
        help="Paste variables as JSON, or payload, headers and query in one object, to try the expression on them; empty: the sample values above."
        fault={pasted.trim() !== "" && input === undefined ? "This is not JSON." : undefined}
      />
      {result === undefined ? null : "failed" in result ? (
        <Notice tone="warning">Such a trigger is refused: {result.failed}</Notice>
      ) : (
        <Notice>Such a trigger is {result.accepted ? "accepted" : "ignored: it starts no run"}.</Notice>
      )}
    </div>
  )
}
