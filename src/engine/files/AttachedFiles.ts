/** Fetches the files that requests name by URL, when a leader first asks for one, and stores them like sent ones. */
import { request as httpRequest, type IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { Context, Data, Duration, Effect, Exit, Fiber, FiberMap, Layer, Option, Schedule } from "effect"
import { FileMissing, type Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { isAt } from "../../domain/run/Attachments.ts"
import { maxFile } from "../../domain/run/RunFile.ts"
import type { SecretKeyStore } from "../../repo/access/SecretKeyStore.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import { FileStore, type WantedFile } from "../../repo/run/FileStore.ts"
import { makeFairTurns } from "../../runtime/FairTurns.ts"
import { AddressPolicy, type AddressPolicyService } from "../delivery/AddressPolicy.ts"
import * as Sealing from "../verify/Sealing.ts"

/** From its turn until the file's end. Shorter than a leader waits. */
const timeLimit = Duration.seconds(30)
/** With the wait for the turn. */
const patience = Duration.seconds(50)
const mostRedirects = 5
/** Each may be in memory, twice. Slow hosts of one team hold up no other's. */
const atOnce = { each: 3, shared: 12 }
/** After a failure that may pass. */
const again = Schedule.intersect(Schedule.spaced("1 second"), Schedule.recurs(2))

/** A file's next place. */
class Redirect extends Data.TaggedClass("Redirect")<{ readonly to: URL }> {}

/** `status`: of the answer; 0: the connection failed; none: another try would be the same. */
class NotGot extends Data.TaggedError("NotGot")<{ readonly reason: string; readonly status?: number }> {}

const missing = (reason: string, status?: number) => new NotGot({ reason, ...(status !== undefined && { status }) })

const mayPass = ({ status }: NotGot): boolean =>
  status !== undefined && (status === 0 || status === 429 || status >= 500)

const isRefused = ({ status = 0 }: NotGot): boolean => [401, 403, 404].includes(status)

export class AttachedFiles extends Context.Tag("webhook-trigger/AttachedFiles")<
  AttachedFiles,
  {
    /** Succeeds if the file is stored now, or is none that is fetched. */
    readonly fetch: (run_id: RunId, id: string) => Effect.Effect<void, FileMissing | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<AttachedFiles, never, DestinationStore | FileStore | SecretKeyStore> =
    Layer.scoped(
      AttachedFiles,
      Effect.gen(function* () {
        const files = yield* FileStore
        const destinations = yield* DestinationStore
        const sealing = yield* Sealing.make
        const policy = yield* AddressPolicy
        const { inTurn } = makeFairTurns(atOnce)
        const fetching = yield* FiberMap.make<string, Exit.Exit<void, FileMissing | Unavailable>, never>()

        /** The token for the URL, if it is at the service of the webhook's destination. */
        const tokenFor = Effect.fnUntraced(function* (url: URL, { source, webhook_id }: WantedFile) {
          if (source.token_of === undefined || webhook_id === null) return undefined
          const all = yield* destinations.destinations(webhook_id)
          const found = all.find((it) => it.kind === source.token_of && it.enabled && isOfService(url, it))
          if (found === undefined) return undefined
          const row = yield* Effect.option(destinations.destinationRow(webhook_id, found.id))
          return Option.isNone(row) ? undefined : sealing.open(row.value.id, row.value.sealed_secret)
        })

        const download = Effect.fnUntraced(function* (wanted: WantedFile) {
          const { hosts, redirects = [], url: text } = wanted.source
          let url = new URL(text)
          let token = yield* tokenFor(url, wanted)
          for (let hops = 0; hops <= mostRedirects; hops++) {
            const from = url
            const got = yield* get(policy, from, token).pipe(
              // Some tokens do not open what everybody may read.
              Effect.catchIf(
                (error) => token !== undefined && isRefused(error),
                () => get(policy, from, undefined)
              ),
              Effect.retry({ schedule: again, while: mayPass })
            )
            if (!(got instanceof Redirect)) return got
            const { to } = got
            if (!isAt(to, [...hosts, ...redirects]))
              return yield* missing(`Its host redirects to ${to.hostname}, which the webhook does not allow.`)
            if (url.protocol === "https:" && to.protocol !== "https:")
              return yield* missing("Its host redirects to a URL without https.")
            token = undefined
            url = to
          }
          return yield* missing("Its host redirects too often.")
        })

        const fetchNow = (run_id: RunId, id: string, wanted: WantedFile) =>
          Effect.timeoutFail(download(wanted), {
            duration: timeLimit,
            onTimeout: () => missing(`It did not arrive within ${Duration.format(timeLimit)}.`)
          }).pipe(
            Effect.flatMap((bytes) => files.keepFetched(run_id, id, bytes)),
            inTurn(wanted.team),
            Effect.timeoutFail({
              duration: patience,
              onTimeout: () => missing("Too many other files are being fetched.")
            }),
            Effect.catchTag("NotGot", ({ reason }) =>
              Effect.zipRight(
                Effect.logInfo(`the file ${id} of run ${run_id} was not fetched: ${reason}`),
                new FileMissing({ reason })
              )
            )
          )

        return {
          fetch: (run_id, id) =>
            Effect.gen(function* () {
              // Most files were sent, or are here.
              const wanted = yield* files.wantedFile(run_id, id)
              if (Option.isNone(wanted)) return
              const key = `${run_id} ${id}`
              const begun = FiberMap.unsafeGet(fetching, key)
              const fiber: Fiber.Fiber<Exit.Exit<void, FileMissing | Unavailable>> = Option.isSome(begun)
                ? begun.value
                : yield* FiberMap.run(fetching, key, Effect.exit(fetchNow(run_id, id, wanted.value)))
              return yield* yield* Fiber.join(fiber)
            })
        }
      })
    )
}

/** Whether the URL is a file of the service whose API the destination calls, where the token can read nothing else. */
const isOfService = (file: URL, destination: { readonly kind: string; readonly url: string }): boolean => {
  if (!URL.canParse(destination.url)) return false
  const api = new URL(destination.url)
  if (file.protocol !== api.protocol) return false
  return destination.kind === "slack-message"
    ? file.host === `files.${api.host}`
    : file.host === api.host.replace(/^api\./, "") && file.pathname.startsWith("/user-attachments/")
}

/** One request. Reasons are without the URL, whose query may be a secret. */
const get = (policy: AddressPolicyService, url: URL, token: string | undefined) =>
  Effect.suspend((): Effect.Effect<Uint8Array | Redirect, NotGot> => {
    const fault = policy.faultOf(url)
    if (fault !== undefined) return missing(`Its URL ${fault}.`)
    return Effect.async<Uint8Array | Redirect, NotGot>((resume, signal) => {
      const failed = (error: Error & { readonly code?: string }) =>
        resume(missing(error.message === "" ? (error.code ?? "The connection failed.") : error.message, 0))
      const headers = {
        "user-agent": "webhook-trigger",
        "accept-encoding": "identity",
        ...(token !== undefined && { authorization: `Bearer ${token}` })
      }
      // Without a connection that waits for others: most hosts are called once.
      const options = { agent: false as const, headers, lookup: policy.lookup, signal }
      const sent = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, options, (response) =>
        read(response, url, resume, failed)
      )
      sent.on("error", failed)
      sent.end()
    })
  })

/** What the answer says before its content; `undefined`: that is the file. */
const withoutContent = ({ headers, statusCode = 0 }: IncomingMessage, url: URL) => {
  const { "content-encoding": encoding = "identity", "content-length": length, location } = headers
  if ([301, 302, 303, 307, 308].includes(statusCode) && location !== undefined) {
    return URL.canParse(location, url.href)
      ? Effect.succeed(new Redirect({ to: new URL(location, url) }))
      : missing("Its host redirects to what is no URL.")
  }
  if (statusCode !== 200) return missing(`Its host answered ${statusCode}.`, statusCode)
  if (encoding !== "identity") return missing("Its host sent it compressed, though it was asked not to.")
  // Slack and others answer so to who is not signed in.
  const isPage = /^text\/html\b/i.test(headers["content-type"] ?? "")
  if (isPage && !/\.html?$/i.test(url.pathname))
    return missing("Its host answered with a web page, perhaps to sign in.")
  return Number(length) > maxFile ? tooLarge : undefined
}

const tooLarge = missing(`It is larger than ${maxFile / 1e6} MB.`)

const read = (
  response: IncomingMessage,
  url: URL,
  resume: (result: Effect.Effect<Uint8Array | Redirect, NotGot>) => void,
  failed: (error: Error) => void
): void => {
  response.on("error", failed)
  const end = (result: Effect.Effect<Uint8Array | Redirect, NotGot>) => {
    resume(result)
    response.destroy()
  }
  const result = withoutContent(response, url)
  if (result !== undefined) {
    end(result)
    return
  }
  const chunks: Array<Buffer> = []
  let size = 0
  response.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size > maxFile) end(tooLarge)
    else chunks.push(chunk)
  })
  response.once("end", () => resume(Effect.sync(() => Buffer.concat(chunks))))
}
