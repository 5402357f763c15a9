import type { FilterInput } from "../../../domain/prompt/FilterFaults.ts"
import { placeholderAt } from "../../../domain/prompt/Placeholder.ts"
import type { Webhook } from "../../api/Types.ts"
import { VariableFields } from "../../components/form/RunFields.tsx"
import { type VariableInput, valuesOf } from "../../components/form/VariableInput.ts"
import { loadLater } from "../../components/Loaded.tsx"
import { ReceivedPicker } from "../../components/run/ReceivedPicker.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { withCode } from "../../components/WithCode.tsx"
import type { EditedTemplate } from "./EditedTemplate.ts"
import { ValueTree } from "./ValueTree.tsx"

// JMESPath is 9 KB of compressed JavaScript, and few webhooks use it.
const FilterPreview = loadLater(() => import("./FilterPreview.tsx"))

/** For a webhook that takes whole requests. */
interface RequestSample {
  readonly language: "simple" | "liquid"
  readonly onInsert: (placeholder: string) => void
}

/** Sample values and the rendered prompt. */
export const TemplatePreview = ({
  text,
  template,
  filter,
  samples,
  filterInput,
  onChange,
  webhook,
  request
}: {
  /** The template. */
  readonly text: string
  readonly template: EditedTemplate
  /** Empty if there is no filter. */
  readonly filter: string
  readonly filterInput: FilterInput
  readonly samples: ReadonlyArray<VariableInput>
  readonly onChange: (samples: ReadonlyArray<VariableInput>) => void
  /** Absent for a new webhook. */
  readonly webhook: Webhook | undefined
  readonly request?: RequestSample | undefined
}) => {
  const values = valuesOf(samples)
  const { places, prompt } = template
  const isPlaced = prompt?.filter(({ name }) => name !== undefined).length === places.length
  /** The placeholder of a missing value. */
  const ghostAt = (index: number) => {
    const place = isPlaced ? places[index] : undefined
    return place && !place.optional ? text.slice(place.start, place.end) : ""
  }
  let index = 0
  return (
    <section className="card stack template-preview" aria-label="Preview">
      <h2>Preview with sample values</h2>
      {request && webhook && <ReceivedPicker webhook={webhook} onPick={onChange} />}
      {text === "" && request === undefined ? (
        <p className="muted small">The template's variables and the rendered prompt appear here.</p>
      ) : (
        <>
          <VariableFields inputs={samples} onChange={onChange} />
          {request && values && (
            <div className="stack tight">
              <p className="small muted">Click a value to insert it into the template at the cursor.</p>
              <ValueTree
                label="The request's values"
                value={values}
                nameAt={(path) => placeholderAt(path, request.language)}
                onPick={(path) => request.onInsert(placeholderAt(path, request.language))}
              />
            </div>
          )}
          <div className="stack tight">
            <h3>Rendered prompt</h3>
            {/* It can scroll, so it must be reachable with the keyboard. */}
            <output className="rendered" tabIndex={0} aria-label="Rendered prompt">
              {prompt ? (
                prompt.map((piece, i) => {
                  if (piece.name === undefined) return piece.text
                  const ghost = ghostAt(index++)
                  if (piece.text !== "") return <mark key={i}>{showDirectionMarks(piece.text)}</mark>
                  return (
                    ghost !== "" && (
                      <mark key={i} className="ghost">
                        {ghost}
                      </mark>
                    )
                  )
                })
              ) : (
                <span className="muted">
                  {template.broken
                    ? "Fix the template to see the prompt."
                    : values
                      ? template.refused && withCode(template.refused)
                      : "Fix the invalid values to see the prompt."}
                </span>
              )}
            </output>
          </div>
        </>
      )}
      {filter !== "" && (
        <FilterPreview expression={filter} filterInput={filterInput} samples={values} webhook={webhook} />
      )}
    </section>
  )
}
