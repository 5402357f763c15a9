import { Schema } from "effect"
import { keptSteps, maxDetail, maxTitle, stepKinds, stepStatuses } from "../../domain/run/Step.ts"
import { Int } from "../../domain/SchemaParts.ts"
import { optional } from "../../domain/Time.ts"
import { listFields } from "../List.ts"

const text = (description: string) => Schema.String.annotate({ description })
const kind = Schema.Literals(stepKinds).annotate({
  description:
    "A tool call (`tool`), one that changes a file (`file`), a text between tool calls (`text`), or a request to the model that failed and is repeated (`retry`)."
})
const title = text(`What the agent did, in one line of up to ${maxTitle} characters.`)
const at = (description: string) => Schema.String.annotate({ description, format: "date-time" })

const others = {
  id: optional(text("The tool call's ID. A later report with it updates this step.")),
  tool: optional(text("The tool's name.")),
  detail: optional(
    text(`The tool's input, or the text: the first ${maxDetail} characters. Absent once a run has too many steps.`)
  ),
  status: optional(Schema.Literals(stepStatuses).annotate({ description: "How the tool call went." })),
  result_bytes: optional(
    Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "The size of the tool's result." })
  ),
  duration_ms: optional(
    Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "How long the tool call took." })
  )
}

const StepSchema = Schema.Struct({ kind, title, ...others, at: at("When it began.") }).annotate({
  identifier: "Step",
  description: "Something that the agent did."
})

export const StepReportSchema = Schema.Struct({
  kind: optional(kind),
  title: optional(title),
  ...others,
  at: optional(at("When it began. Default: when the report arrives."))
}).annotate({ identifier: "StepReport", description: "Something that the agent did, or the end of it." })

export const StepList = Schema.Struct(listFields(StepSchema, "In order.")).annotate({
  identifier: "StepList",
  description: "What the agent did."
})

export const stepsDescription = `What the agent did, as its leader reported it: up to ${keptSteps / 1024} KiB of a run. Of more, the oldest steps lose their details first, then they are removed. Steps are kept for \`STEPS_RETENTION\`.`
