/** Exports, which are streamed to a file or to standard output. */
import { createWriteStream } from "node:fs"
import { pipeline } from "node:stream/promises"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, Option, Stream } from "effect"
import { Flag } from "effect/cli"
import { hasProperty } from "effect/Predicate"
import { respond } from "./Call.ts"
import { type Leaf, remote, type Texts } from "./Command.ts"
import type { EndpointName } from "./Endpoint.ts"
import { exitCodes, Failure, refused } from "./Failure.ts"
import { inputOf, type Rules } from "./Input.ts"
import { rules as usual } from "./Rules.ts"

/** The reader has enough, as `head` does. */
const isClosedPipe = (error: unknown): boolean => hasProperty(error, "code") && error.code === "EPIPE"

const output = Flag.String("output").pipe(
  Flag.withAlias("o"),
  Flag.withMetavar("file"),
  Flag.withDescription("The output file; default: standard output"),
  Flag.optional
)
const format = Flag.Literals("format", ["csv", "jsonl"]).pipe(
  Flag.withDescription("csv, or jsonl (one JSON object per line); default: jsonl"),
  Flag.withDefault("jsonl")
)

/** `export`, from an endpoint for each format with the same filters. */
export const downloadCommand = <N extends "audit.exportCsv" | "runs.exportCsv">(
  csv: N,
  jsonl: N extends "audit.exportCsv" ? "audit.exportJsonLines" : "runs.exportJsonLines",
  texts: Texts,
  rules: Rules = {}
): Leaf => {
  const input = inputOf<N>(csv, usual, { rules })
  return remote("export", texts, { words: input.config, format, output }, ({ format, output, words }, connection) =>
    Effect.gen(function* () {
      const { notFound, request } = yield* input.read(
        words as Readonly<Record<string, ReadonlyArray<string>>>,
        connection
      )
      const response = yield* respond<EndpointName>(connection, format === "csv" ? csv : jsonl, request, notFound)
      const lost = new Failure({
        exit: exitCodes.outOfReach,
        title: "The connection was lost; the output is incomplete"
      })
      const source = yield* NodeStream.toReadable(Stream.catch(response.stream, () => Stream.fail(lost)))
      yield* Effect.tryPromise({
        try: () =>
          Option.isSome(output)
            ? pipeline(source, createWriteStream(output.value))
            : pipeline(source, process.stdout, { end: false }),
        catch: (error) => error
      }).pipe(
        Effect.catchIf(isClosedPipe, () => Effect.void),
        Effect.mapError((error) =>
          error instanceof Failure
            ? error
            : refused("Cannot write the output", error instanceof Error ? error.message : String(error))
        )
      )
    })
  )
}
