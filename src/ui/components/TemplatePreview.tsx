import { Either } from "effect"
import { Fragment } from "react"
import { fenceOf } from "../../domain/Fence.ts"
import { fill } from "../../domain/Template.ts"
import { FilterPreview } from "./FilterPreview.tsx"
import { useTemplate } from "./TemplateField.tsx"
import { showDirectionMarks } from "./UserText.tsx"
import { VariableFields } from "./VariableFields.tsx"
import { type VariableInput, valuesOf } from "./VariableInput.ts"

/** Other characters in every run. */
const exampleFence = fenceOf("random")

/** Fields for sample values, and the prompt that the template renders with them. */
export const TemplatePreview = ({
  text,
  fenced,
  filter,
  samples,
  onChange
}: {
  /** The template. */
  readonly text: string
  /** Whether the prompt marks its values as data. */
  readonly fenced: boolean
  /** The webhook's `accept_if`; empty: none. */
  readonly filter: string
  readonly samples: ReadonlyArray<VariableInput>
  readonly onChange: (samples: ReadonlyArray<VariableInput>) => void
}) => {
  const { template } = useTemplate(text)
  const values = valuesOf(samples)
  const filled = template && values && fill(template, values)
  const fence = fenced && template && template.placeholders.length > 0 ? exampleFence : undefined
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
              {filled && Either.isRight(filled) && fence?.note}
              {filled && Either.isRight(filled) ? (
                filled.right.map((piece, i) =>
                  i % 2 === 0 ? (
                    piece
                  ) : piece === "" ? (
                    // Where a value is still missing.
                    <mark key={i} className="ghost">{`{{${template.placeholders[(i - 1) / 2]!.name}}}`}</mark>
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
                  {template
                    ? "Fix the invalid values to see the prompt."
                    : "Fix the braces in the template to see the prompt."}
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
