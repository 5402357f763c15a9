/** How a request asks for the events of a run. */
import { Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { EventFormat, eventStream } from "../../api/run/EventStream.ts"
import { endId } from "../../api/run/RunEvents.ts"
import { InvalidParameter, NotAcceptable } from "../../domain/Errors.ts"
import { mark } from "../../engine/progress/RunUpdate.ts"
import * as Parameters from "../request/Parameters.ts"

type Request = HttpServerRequest.HttpServerRequest

/** `events`: in this server's own format. */
export type Format = "events" | EventFormat

/** Whether an `Accept` names one of these, and does not exclude it. */
export const isAmong = (accept: string, mediaTypes: ReadonlyArray<string>): boolean =>
  accept
    .toLowerCase()
    .split(",")
    .some((range) => {
      const [mediaType = "", ...parameters] = range.split(";").map((part) => part.trim())
      return mediaTypes.includes(mediaType) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
    })

/** The only value of `format` in a trigger's query that matters without `Accept`: a webhook's input may be the whole request. */
const formatInQuery = new RegExp(`[?&]format=(${EventFormat.literal})(&|$)`)

/** Whether a trigger's caller wants events instead of the usual response. */
export const isAsked = ({ headers: { accept }, url }: Pick<Request, "headers" | "url">): boolean =>
  (accept !== undefined && isAmong(accept, [eventStream])) || formatInQuery.test(url)

const isAcceptable = ({ headers: { accept } }: Request): boolean =>
  accept === undefined || isAmong(accept, [eventStream, "text/*", "*/*"])

const invalidFormat = new InvalidParameter({ name: "format", detail: `must be \`${EventFormat.literal}\`` })

const isFormat = (text: string): text is EventFormat => text === EventFormat.literal

/** The format that the request asks for. */
export const formatOf = (request: Request): Result.Result<Format, InvalidParameter | NotAcceptable> => {
  const formats = new URLSearchParams(Parameters.search(request)).getAll("format")
  const [format] = formats
  if (formats.length > 1 || (format !== undefined && !isFormat(format))) return Result.fail(invalidFormat)
  return isAcceptable(request)
    ? Result.succeed(format ?? "events")
    : Result.fail(new NotAcceptable({ available: eventStream }))
}

/** The client's place, as `RunWatch` takes it. */
export const receivedOf = ({ headers }: Request): Result.Result<number, InvalidParameter> => {
  const id = headers["last-event-id"]
  if (id === undefined || id === "") return Result.succeed(mark.nothing)
  if (id === endId) return Result.succeed(mark.ended)
  return /^\d{1,16}$/.test(id)
    ? Result.succeed(Number(id))
    : Result.fail(new InvalidParameter({ name: "Last-Event-ID", detail: "must be the `id` of an event of this run" }))
}
