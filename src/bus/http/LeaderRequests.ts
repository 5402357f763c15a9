/** The requests of a leader over HTTP. `docs/reference/leaders-http.md` describes them. */
import { Data, Duration, Effect, Option, Predicate, Redacted, Schema } from "effect"
import { FileMissing, Unavailable } from "../../domain/Errors.ts"
import type { LeaderId, RunId } from "../../domain/Id.ts"
import { parsePlain } from "../../domain/Json.ts"
import type { NumberedProgress } from "../../domain/run/Progress.ts"
import type { PromptBody } from "../../domain/run/PromptBody.ts"
import { TeamName } from "../../domain/Team.ts"
import { readPromptBody, replyBody } from "../Bodies.ts"
import type { LeaderReply } from "../Bus.ts"

export interface LeaderHttpOptions {
  /** The server's address, without a trailing slash. */
  readonly url: string
  /** A leader key of the team. */
  readonly key: Redacted.Redacted<string>
}

/** The server refused a request for good: to repeat it would not help. */
export class LeaderRefused extends Data.TaggedError("LeaderRefused")<{ readonly message: string }> {}

/** The leader's prompt. */
export interface TakenPrompt {
  readonly correlation_id: string
  /** None: a leader of this version cannot read it. */
  readonly prompt: Option.Option<PromptBody & { readonly traceparent?: string }>
  readonly redelivered: boolean
  readonly cancelled: boolean
}

type Request<A> = Effect.Effect<A, LeaderRefused | Unavailable>

interface LeaderRequests {
  /** The key's team. */
  readonly team: Request<TeamName>
  /** The leader's next prompt. None: there was none for so long, in seconds; by default as long as the server waits. */
  readonly next: (leader: LeaderId, wait_seconds?: number) => Request<Option.Option<TakenPrompt>>
  /** Shows that the leader works, and waits for a cancellation for two seconds. `lost`: the prompt is not its own any longer. */
  readonly work: (leader: LeaderId, run_id: RunId) => Request<"working" | "cancelled" | "lost">
  readonly reply: (correlation_id: string, reply: Exclude<LeaderReply, { readonly _tag: "Started" }>) => Request<void>
  readonly progress: (correlation_id: string, progress: NumberedProgress) => Request<void>
  /** The content of a file of the prompt. */
  readonly file: (
    correlation_id: string,
    id: string
  ) => Effect.Effect<Uint8Array, FileMissing | LeaderRefused | Unavailable>
  /** The leader can never work on the prompt. */
  readonly reject: (correlation_id: string) => Request<void>
  readonly leave: (leader: LeaderId) => Request<void>
}

/** How long a request may take: longer than the server, and shorter than it waits for a silent leader. */
const limits = {
  team: Duration.seconds(10),
  next: Duration.seconds(30),
  work: Duration.seconds(5),
  reply: Duration.seconds(60),
  file: Duration.seconds(60),
  progress: Duration.seconds(5),
  leave: Duration.seconds(5)
}

const decodeTeam = Schema.decodeUnknownOption(Schema.Struct({ team: TeamName }))

interface Answer {
  readonly status: number
  readonly text: string
}

export const make = ({ key, url }: LeaderHttpOptions): LeaderRequests => {
  /** The response of a request that succeeded, or has one of these other statuses. */
  const send = (path: keyof typeof limits, body?: string, also: ReadonlyArray<number> = [], to: string = path) =>
    Effect.tryPromise({
      try: async (signal): Promise<Answer> => {
        const response = await fetch(`${url}/leader/${to}`, {
          ...(body !== undefined && { method: "POST", body }),
          headers: { authorization: `Bearer ${Redacted.value(key)}`, "content-type": "application/json" },
          redirect: "manual",
          signal
        })
        return { status: response.status, text: await response.text() }
      },
      catch: (error) => unavailable(`${url} did not answer: ${reasonOf(error)}`)
    }).pipe(
      // Not `AbortSignal.timeout`: Node 20 drops one that is part of `AbortSignal.any`, and the request would never end.
      Effect.timeoutOrElse({
        duration: limits[path],
        orElse: () => Effect.fail(unavailable(`${url} did not answer within ${Duration.format(limits[path])}`))
      }),
      Effect.flatMap((answer): Request<Answer> => {
        const { status, text } = answer
        if ((status >= 200 && status < 300) || also.includes(status)) return Effect.succeed(answer)
        const answered = `${url}/leader/${to} answered ${status}${detailOf(text)}`
        if (status === 429 || status >= 500) return unavailable(answered)
        return new LeaderRefused({
          message: status === 401 ? "The leader key is wrong or was revoked." : `${answered}.`
        })
      })
    )
  const unreadable = (path: string) =>
    new LeaderRefused({ message: `${url}/leader/${path} did not answer as a server of webhooks does.` })

  const reply = (fields: object, path: "reply" | "progress" = "reply") =>
    Effect.asVoid(send(path, JSON.stringify(fields), [], "reply"))

  return {
    team: Effect.flatMap(send("team"), ({ text }) =>
      Option.match(decodeTeam(parsePlain(text)), {
        onNone: () => unreadable("team"),
        onSome: ({ team }) => Effect.succeed(team)
      })
    ),
    next: (leader, wait_seconds) =>
      Effect.flatMap(send("next", JSON.stringify({ leader, wait_seconds })), ({ status, text }) => {
        if (status === 204) return Effect.succeedNone
        const taken = takenPrompt(parsePlain(text))
        return taken === undefined ? unreadable("next") : Effect.succeedSome(taken)
      }),
    work: (leader, run_id) =>
      Effect.flatMap(send("work", JSON.stringify({ leader, run_id }), [409]), ({ status, text }) => {
        if (status === 409) return Effect.succeed("lost" as const)
        const body = parsePlain(text)
        if (!Predicate.isObject(body)) return unreadable("work")
        return Effect.succeed(body.cancelled === true ? ("cancelled" as const) : ("working" as const))
      }),
    reply: (correlation_id, given) => {
      const [type, content] = replyBody(given)
      return reply({ ...content, correlation_id, type })
    },
    progress: (correlation_id, progress) => reply({ ...progress, correlation_id, type: "progress" }, "progress"),
    file: (correlation_id, id) =>
      Effect.flatMap(
        send("file", JSON.stringify({ correlation_id, id }), [404]),
        ({ status, text }): ReturnType<LeaderRequests["file"]> => {
          if (status === 404) return unavailable(`the server no longer has the file ${id}`)
          const body = parsePlain(text)
          if (Predicate.isObject(body) && typeof body.missing === "string")
            return new FileMissing({ reason: body.missing })
          return Predicate.isObject(body) && typeof body.content === "string"
            ? Effect.succeed(Buffer.from(body.content, "base64"))
            : unreadable("file")
        }
      ),
    reject: (correlation_id) => reply({ correlation_id, type: "rejected" }),
    leave: (leader) => Effect.asVoid(send("leave", JSON.stringify({ leader })))
  }
}

const takenPrompt = (body: unknown): TakenPrompt | undefined => {
  if (!Predicate.isObject(body) || typeof body.correlation_id !== "string") return undefined
  const { cancelled, correlation_id, redelivered, traceparent } = body
  return {
    correlation_id,
    prompt: Option.map(readPromptBody(body), (prompt) => ({
      ...prompt,
      ...(typeof traceparent === "string" && { traceparent })
    })),
    redelivered: redelivered === true,
    cancelled: cancelled === true
  }
}

const unavailable = (detail: string) => new Unavailable({ what: "server", detail })

const reasonOf = (error: unknown): string => {
  const { cause, message } = error instanceof Error ? error : { cause: undefined, message: String(error) }
  return cause instanceof Error && cause.message !== "" ? cause.message : message
}

/** The detail in the body of an error. */
const detailOf = (text: string): string => {
  const problem = parsePlain(text)
  return Predicate.isObject(problem) && typeof problem.detail === "string" ? `: ${problem.detail}` : ""
}
