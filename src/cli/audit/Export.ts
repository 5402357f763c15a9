import { Command, Options } from "@effect/cli"
import { Schema } from "effect"
import { AuditFilterParameters } from "../../api/access/Audit.ts"
import { auditExports } from "../../api/ExportPaths.ts"
import { adminOptions } from "../Connection.ts"
import { download, output } from "../Download.ts"
import { about } from "../Help.ts"
import { filterOptions, parametersOf } from "./AuditFilter.ts"

const format = Options.choiceWithValue("format", [
  ["csv", auditExports.csv],
  ["jsonl", auditExports.jsonl]
]).pipe(
  Options.withPseudoName("format"),
  Options.withDescription("csv, or jsonl (one JSON object per line, for `audit verify`); default: jsonl"),
  Options.withDefault(auditExports.jsonl)
)
const { json: _, ...connectionOptions } = adminOptions

export const exportAll = Command.make("export", { ...filterOptions, format, output, ...connectionOptions }, (given) =>
  download(
    { ...given, json: false },
    given.format,
    Schema.encodeSync(AuditFilterParameters)(parametersOf(given)),
    given.output
  )
).pipe(
  Command.withDescription(
    about("Export all audit events that match the filters, oldest first", {
      details: "Each event has its place in the log and its hash.",
      examples: ["webhook-trigger audit export --output audit.jsonl && webhook-trigger audit verify audit.jsonl"]
    })
  )
)
