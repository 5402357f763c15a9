import { createWriteStream } from "node:fs"
import { pipeline } from "node:stream/promises"
import { Effect, Option, Stream } from "effect"
import { Flag } from "effect/cli"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { hasProperty } from "effect/Predicate"
import type { Connection } from "./Connection.ts"
import { exitCodes, Failure, fromClient } from "./Failure.ts"

/** The reader has enough, as `head` does. */
const isClosedPipe = (error: unknown): boolean => hasProperty(error, "code") && error.code === "EPIPE"

const notWritten = (cause: unknown) =>
  new Failure({
    exit: exitCodes.refused,
    title: "Cannot write the output",
    detail: cause instanceof Error ? cause.message : String(cause)
  })

/** Where a download is written. */
export const output = Flag.String("output").pipe(
  Flag.withAlias("o"),
  Flag.withMetavar("file"),
  Flag.withDescription("The output file; default: standard output"),
  Flag.optional
)

/** Streams a response to a file or to standard output. */
export const download = (
  { adminKey = Option.none(), url }: Connection,
  path: string,
  urlParams: Readonly<Record<string, string | undefined>>,
  output: Option.Option<string>
) =>
  Effect.gen(function* () {
    const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
    const request = HttpClientRequest.get(url + path, { urlParams }).pipe((request) =>
      Option.isSome(adminKey) ? HttpClientRequest.bearerToken(request, adminKey.value) : request
    )
    const refused = (error: unknown) => Effect.flatMap(fromClient(url, undefined)(error), Effect.fail)
    const response = yield* Effect.catch(client.execute(request), refused)
    const body = Stream.catch(response.stream, () =>
      Stream.fail(
        new Failure({ exit: exitCodes.outOfReach, title: "The connection was lost; the output is incomplete" })
      )
    )
    const source = yield* NodeStream.toReadable(body)
    yield* Effect.tryPromise({
      try: () =>
        Option.isSome(output)
          ? pipeline(source, createWriteStream(output.value))
          : pipeline(source, process.stdout, { end: false }),
      catch: (error) => error
    }).pipe(
      Effect.catchIf(isClosedPipe, () => Effect.void),
      Effect.mapError((error) => (error instanceof Failure ? error : notWritten(error)))
    )
  })
