import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { Args, Command, Options } from "@effect/cli"
import { Effect, Option, Schema } from "effect"
import {
  chainCheck,
  describeBreak,
  describeIntact,
  eventOf,
  linkOf,
  linkPattern,
  linkText
} from "../../domain/access/AuditChain.ts"
import { AuditVerification } from "../../domain/access/AuditVerification.ts"
import { adminOptions, call, show } from "../Connection.ts"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { about } from "../Help.ts"
import { plural } from "../Output.ts"
import { validated } from "../Validated.ts"

const file = Args.text({ name: "file" }).pipe(
  Args.withDescription("A file of `audit export` in the format jsonl; without one, the server checks all its events"),
  Args.optional
)
const filtered = Options.boolean("filtered").pipe(
  Options.withDescription("The file was exported with filters, so it may have gaps")
)
const expected = Options.text("expected").pipe(
  Options.withPseudoName("checkpoint"),
  Options.withDescription(
    "Check that this event still exists: a checkpoint that this command printed, such as 120:9f86d0…"
  ),
  Options.mapTryCatch(
    ...validated(
      "--expected",
      Schema.String.pipe(
        Schema.pattern(linkPattern, {
          message: () => ({ message: "must be a number, a colon and 64 hexadecimal digits", override: true })
        })
      )
    )
  ),
  Options.optional
)

const hashOf = (content: string): string => createHash("sha256").update(content).digest("hex")

/** Only a line feed ends a line: others, such as U+2028, may be in an event. */
async function* linesOf(path: string) {
  let rest = ""
  for await (const text of createReadStream(path, "utf8")) {
    const lines = `${rest}${text}`.split("\n")
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== "") yield rest
}

/** Checks a file by itself, line by line. */
const checkFile = (path: string, isFiltered: boolean, expected: string | undefined) =>
  Effect.tryPromise({
    try: async () => {
      const check = chainCheck({ hashOf, isFiltered, expected: expected === undefined ? undefined : linkOf(expected) })
      let number = 0
      for await (const line of linesOf(path)) {
        number++
        const event = eventOf(line)
        if (event === undefined) {
          throw usage(`line ${number} of ${path} is not an event of \`audit export\` in the format jsonl`)
        }
        const broken = check.next(event)
        if (broken !== undefined) return check.result(broken)
      }
      return check.result()
    },
    catch: (error) => (error instanceof Failure ? error : usage(error instanceof Error ? error.message : String(error)))
  })

const describe = ({ events, last }: AuditVerification): string =>
  last === undefined
    ? "There are no events."
    : `${plural(events, "event")} verified. Checkpoint for --expected: ${linkText(last)}`

export const verify = Command.make("verify", { file, filtered, expected, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const expected = Option.getOrUndefined(options.expected)
    if (Option.isNone(options.file) && options.filtered) return yield* usage("--filtered needs a file")
    const result = yield* Option.match(options.file, {
      onSome: (path) => checkFile(path, options.filtered, expected),
      onNone: () => call(options, (client) => client.audit.verify({ urlParams: { expected } }))
    })
    if (result.broken !== undefined) {
      return yield* new Failure({
        exit: exitCodes.refused,
        title: describeBreak(result.broken),
        detail: describeIntact(result.events),
        body: Schema.encodeSync(AuditVerification)(result)
      })
    }
    yield* show(options, AuditVerification, result, describe)
  })
).pipe(
  Command.withDescription(
    about("Check that no audit event was changed, removed or inserted", {
      details: "Names the first one that was, with exit code 1. A file is checked without the server.",
      examples: ["webhook-trigger audit verify", "webhook-trigger audit verify audit.jsonl"]
    })
  )
)
