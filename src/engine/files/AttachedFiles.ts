/** Fetches the files that requests name by URL, when a leader first asks for one, and stores them like sent ones. */
import { request as httpRequest, type IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { Context, Data, Duration, Effect, type Exit, Fiber, FiberMap, Layer, Option, Schedule } from "effect"
import { FileMissing, type Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { membersOf } from "../../domain/Json.ts"
import { isAt, slackFile } from "../../domain/run/Attachments.ts"
import { maxFile } from "../../domain/run/RunFile.ts"
import type { SecretKeyStore } from "../../repo/access/SecretKeyStore.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import { FileStore, type WantedFile } from "../../repo/run/FileStore.ts"
import { makeFairTurns } from "../../runtime/FairTurns.ts"
import { AddressPolicy, type AddressPolicyService } from "../egress/AddressPolicy.ts"
import * as Sealing from "../verify/Sealing.ts"
import { isNotTheFile } from "./Pages.ts"

/** From its turn until the file's end. Shorter than a leader waits. */
const timeLimit = Duration.seconds(30)
/** With the wait for the turn. */
const patience = Duration.seconds(50)
const mostRedirects = 5
/** Each may be in memory, twice. Slow hosts of one team hold up no other's. */
const atOnce = { each: 3, shared: 12 }
/** After a failure that may pass. */
const again = Schedule.upTo(Schedule.spaced("1 second"), { times: 2 })

/** A file's next place. */
class Redirect extends Data.TaggedClass("Redirect")<{ readonly to: URL }> {}

/** The host's response. */
interface Got {
  readonly bytes: Uint8Array
  readonly type: string
  readonly disposition: string
}

/** `status`: of the answer; 0: the connection failed; none: another try would be the same. */
class NotGot extends Data.TaggedError("NotGot")<{ readonly reason: string; readonly status?: number }> {}

const missing = (reason: string, status?: number) => new NotGot({ reason, ...(status !== undefined && { status }) })

const mayPass = ({ status }: NotGot): boolean =>
  status !== undefined && (status === 0 || status === 429 || status >= 500)

const isRefused = ({ status = 0 }: NotGot): boolean => [401, 403, 404].includes(status)

export class AttachedFiles extends Context.Service<
  AttachedFiles,
  {
    /** Succeeds if the file is stored now, or is none that is fetched. */
    readonly fetch: (run_id: RunId, id: string) => Effect.Effect<void, FileMissing | Unavailable>
  }
>()("webhook-trigger/AttachedFiles") {
  static readonly layer: Layer.Layer<AttachedFiles, never, DestinationStore | FileStore | SecretKeyStore> =
    Layer.effect(
      AttachedFiles,
      Effect.gen(function* () {
        const files = yield* FileStore
        const destinations = yield* DestinationStore
        const sealing = yield* Sealing.make
        const policy = yield* AddressPolicy
        const { inTurn } = makeFairTurns(atOnce)
        const fetching = yield* FiberMap.make<string, Exit.Exit<void, FileMissing | Unavailable>, never>()

        /** The token of the webhook's first destination of the service that `isIts` accepts, and where its API is. */
        const accessTo = Effect.fnUntraced(function* (
          { source, webhook_id }: WantedFile,
          isIts: (destination: Service) => boolean
        ) {
          if (source.token_of === undefined || webhook_id === null) return undefined
          const all = yield* destinations.destinations(webhook_id)
          const found = all.find((it) => it.kind === source.token_of && it.enabled && isIts(it))
          if (found === undefined) return undefined
          const row = yield* Effect.option(destinations.destinationRow(webhook_id, found.id))
          const token = Option.isNone(row) ? undefined : sealing.open(row.value.id, row.value.sealed_secret)
          return token === undefined ? undefined : { api: found.url, token }
        })

        /** Where the file is. Slack's event has only the ID of a file in a channel that two workspaces share. */
        const locate = Effect.fnUntraced(function* (wanted: WantedFile) {
          const given = new URL(wanted.source.url)
          if (given.protocol !== slackFile) return given
          const slack = yield* accessTo(wanted, ({ url }) => URL.canParse(url))
          if (slack === undefined)
            return yield* missing(
              "Only Slack can say where it is, and no Slack destination of the webhook has a token."
            )
          const method = new URL(`${slack.api.replace(/\/+$/, "")}/files.info?file=${given.pathname}`)
          const answer = yield* Effect.retry(get(policy, method, slack.token), { schedule: again, while: mayPass })
          const { error, file, ok } = answer instanceof Redirect ? {} : membersOf(jsonIn(answer.bytes))
          const { url_private, url_private_download } = membersOf(file)
          const url = [url_private_download, url_private].find(
            (it): it is string => typeof it === "string" && it !== ""
          )
          if (ok !== true || url === undefined || !URL.canParse(url))
            return yield* missing(
              error === "missing_scope"
                ? "The token of the webhook's Slack destination lacks the scope files:read."
                : `Slack does not say where it is: ${String(error ?? "files.info has no URL").slice(0, 100)}.`
            )
          const found = new URL(url)
          return isAt(found, wanted.source.hosts)
            ? found
            : yield* missing("Its URL is not at one of the webhook's hosts.")
        })

        const download = Effect.fnUntraced(function* (wanted: WantedFile) {
          const { hosts, redirects = [], token_of } = wanted.source
          let url = yield* locate(wanted)
          const access = yield* accessTo(wanted, (it) => isOfService(url, it))
          let token = access?.token
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
            if (!(got instanceof Redirect)) {
              const { bytes, disposition, type } = got
              const announced = { name: wanted.name, type: wanted.type, path: url.pathname }
              if (!isNotTheFile(announced, { disposition, type }, bytes)) return bytes
              const scope =
                token_of === "slack-message" ? " Does the destination's token have the scope files:read?" : ""
              return yield* missing(`Its host answered with a web page or a refusal, perhaps to sign in.${scope}`)
            }
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
          Effect.timeoutOrElse(download(wanted), {
            duration: timeLimit,
            orElse: () => Effect.fail(missing(`It did not arrive within ${Duration.format(timeLimit)}.`))
          }).pipe(
            Effect.flatMap((bytes) => files.keepFetched(run_id, id, bytes)),
            inTurn(wanted.team),
            Effect.timeoutOrElse({
              duration: patience,
              orElse: () => Effect.fail(missing("Too many other files are being fetched."))
            }),
            Effect.catchTag("NotGot", ({ reason }) =>
              Effect.andThen(
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
              const begun = FiberMap.getUnsafe(fetching, key)
              const fiber: Fiber.Fiber<Exit.Exit<void, FileMissing | Unavailable>> = Option.isSome(begun)
                ? begun.value
                : yield* FiberMap.run(fetching, key, Effect.exit(fetchNow(run_id, id, wanted.value)))
              return yield* yield* Fiber.join(fiber)
            })
        }
      })
    )
}

interface Service {
  readonly kind: string
  readonly url: string
}

const jsonIn = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return undefined
  }
}

/** Whether the URL is a file of the service whose API the destination calls, where the token can read nothing else. */
const isOfService = (file: URL, destination: Service): boolean => {
  if (!URL.canParse(destination.url)) return false
  const api = new URL(destination.url)
  if (file.protocol !== api.protocol) return false
  return destination.kind === "slack-message"
    ? file.host === `files.${api.host}`
    : file.host === api.host.replace(/^api\./, "") && file.pathname.startsWith("/user-attachments/")
}

/** One request. Reasons are without the URL, whose query may be a secret. */
const get = (policy: AddressPolicyService, url: URL, token: string | undefined) =>
  Effect.suspend((): Effect.Effect<Got | Redirect, NotGot> => {
    const fault = policy.faultOf(url)
    if (fault !== undefined) return missing(`Its URL ${fault}.`)
    return Effect.callback<Got | Redirect, NotGot>((resume, signal) => {
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

/** The result that the head of an answer already decides; `undefined`: the content is the file. */
const withoutContent = ({ headers, statusCode = 0 }: IncomingMessage, url: URL) => {
  const { "content-encoding": encoding = "identity", "content-length": length, location } = headers
  if ([301, 302, 303, 307, 308].includes(statusCode) && location !== undefined) {
    return URL.canParse(location, url.href)
      ? Effect.succeed(new Redirect({ to: new URL(location, url) }))
      : missing("Its host redirects to what is no URL.")
  }
  if (statusCode !== 200) return missing(`Its host answered ${statusCode}.`, statusCode)
  if (encoding !== "identity") return missing("Its host sent it compressed, though it was asked not to.")
  return Number(length) > maxFile ? tooLarge : undefined
}

const tooLarge = missing(`It is larger than ${maxFile / 1e6} MB.`)

const read = (
  response: IncomingMessage,
  url: URL,
  resume: (result: Effect.Effect<Got | Redirect, NotGot>) => void,
  failed: (error: Error) => void
): void => {
  response.on("error", failed)
  const end = (result: Effect.Effect<Got | Redirect, NotGot>) => {
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
  const { "content-disposition": disposition = "", "content-type": type = "" } = response.headers
  response.once("end", () => resume(Effect.sync(() => ({ bytes: Buffer.concat(chunks), disposition, type }))))
}
