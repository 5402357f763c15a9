import { Fragment } from "react"
import { fenceOf } from "../../domain/Fence.ts"
import type { EditedTemplate } from "./EditedTemplate.ts"
import { FilterPreview } from "./FilterPreview.tsx"
import { showDirectionMarks } from "./UserText.tsx"
import { VariableFields } from "./VariableFields.tsx"
import { type VariableInput, valuesOf } from "./VariableInput.ts"

/** Other characters in every run. */
const exampleFence = fenceOf("random")

/** Fields for sample values, and the prompt that the template renders with them. */
export const TemplatePreview = ({
  text,
  template,
  fenced,
  filter,
  samples,
  onChange
}: {
  /** The template. */
  readonly text: string
  readonly template: EditedTemplate
  /** Whether the prompt marks its values as data. */
  readonly fenced: boolean
  /** The webhook's `accept_if`; empty: none. */
  readonly filter: string
  readonly samples: ReadonlyArray<VariableInput>
  readonly onChange: (samples: ReadonlyArray<VariableInput>) => void
}) => {
  const values = valuesOf(samples)
  const filled = values && template.fill?.(values)
  const pieces = filled && "pieces" in filled ? filled.pieces : undefined
  const fence = fenced && pieces && pieces.length > 1 ? exampleFence : undefined
  /** Where a value is still missing. */
  const ghostAt = (index: number) => {
    const placeholder = template.simple?.placeholders[index]
    return placeholder && !placeholder.optional ? `{{${placeholder.name}}}` : ""
  }
  return (
    <section className="card stack template-preview" aria-label="Preview">
      <h2>Preview with sample values</h2>
      {text === "" ? (
        <p className="muted small">The template's variables and the rendered prompt appear here.</p>
      ) : (
        <>
          <VariableFields inputs={samples} onChange={onChange} />
          <div className="stack tight">
            <h3>Rendered prompt</h3>
            <output className="rendered">
              {fence?.note}
              {pieces ? (
                pieces.map((piece, i) =>
                  i % 2 === 0 ? (
                    piece
                  ) : piece === "" ? (
                    <mark key={i} className="ghost">
                      {ghostAt((i - 1) / 2)}
                    </mark>
                  ) : (
                    <Fragment key={i}>
                      {fence?.open}
                      <mark>{showDirectionMarks(piece)}</mark>
                      {fence?.close}
                    </Fragment>
                  )
                )
              ) : (
                <span className="muted">
                  {template.broken
                    ? "Fix the template to see the prompt."
                    : filled && "reason" in filled
                      ? filled.reason
                      : "Fix the invalid values to see the prompt."}
                </span>
              )}
            </output>
          </div>
        </>
      )}
      {filter !== "" && <FilterPreview expression={filter} samples={values} />}
    </section>
  )
}
