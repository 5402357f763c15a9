/** A click on a button of a message in Slack: the reply to a question, or the decision about a run that waits for approval. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { NotFound, type Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import * as Json from "../../domain/Json.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { Decision } from "../../domain/webhook/Approvers.ts"
import type { OpenedWebhook, WebhookRow } from "../../domain/webhook/Webhook.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import * as Audit from "../access/Audit.ts"
import { asJson, Poster } from "../egress/Poster.ts"
import * as Signature from "../egress/Signature.ts"
import { Approvals } from "../manage/Approvals.ts"
import { mrkdwn } from "../markdown/Dialects.ts"
import type { RunRequest } from "../trigger/Candidates.ts"
import * as QuestionAnswers from "../trigger/QuestionAnswers.ts"
import { textOf } from "../trigger/Refusals.ts"
import { Trigger } from "../trigger/Trigger.ts"
import * as ButtonOutcomes from "./ButtonOutcomes.ts"
import { type Click, clickIn } from "./Buttons.ts"
import { byMember, slackActor } from "./SlackMembers.ts"
import { contextOf, isSlackUrl } from "./SlackMessages.ts"

/** The text that Slack shows: to all, in place of the buttons, or to the person who clicked. */
type Told = { readonly toAll: string } | { readonly toOne: string }

const decided = { approve: "approved", deny: "denied" } as const satisfies { readonly [D in Decision]: string }

/** A run of the teams that get the webhook's requests; `NotFound` for any other. */
export const makeRunFor = Effect.gen(function* () {
  const history = yield* HistoryStore
  const trigger = yield* Trigger
  return Effect.fnUntraced(function* (webhook: OpenedWebhook, run_id: RunId) {
    const run = yield* history.run(run_id)
    const own = yield* trigger.open(run.webhook_id ?? "")
    const isOf = [webhook, ...(webhook.shared_by ?? [])].some(({ team }) => team === run.team)
    return isOf && own.team === run.team ? run : yield* new NotFound()
  })
})

export const make = Effect.gen(function* () {
  const approvals = yield* Approvals
  const audit = yield* AuditStore
  const outcomes = yield* ButtonOutcomes.make
  const { post } = yield* Poster
  const answer = yield* QuestionAnswers.make
  const runFor = yield* makeRunFor
  const sign = yield* Signature.make
  const scope = yield* Effect.scope

  /** Slack waits 3 seconds for the response, and does not show it. */
  const tell = ({ blocks, response_url }: Click, told: Told) => {
    const text = "toAll" in told ? told.toAll : told.toOne
    const body =
      "toAll" in told
        ? { replace_original: true, text, blocks: [...blocks, contextOf(text)] }
        : { replace_original: false, response_type: "ephemeral", text }
    if (!isSlackUrl(response_url)) return Effect.void
    return post({ url: response_url, headers: asJson, body: Json.stringify(body) }).pipe(
      Effect.catch(({ reason }) => Effect.logWarning(`Slack could not be told what came of a click: ${reason}`)),
      Effect.forkIn(scope)
    )
  }

  const decide = ({ member, run_id }: Click, decision: Decision) =>
    approvals.decide(run_id, decision, slackActor(member)).pipe(
      Audit.recordDecision(decision, run_id),
      Effect.as<Told>({ toAll: `${ButtonOutcomes.mention(member.id)} ${decided[decision]} it.` }),
      Effect.catchTag("Forbidden", ({ detail }) => Effect.succeed<Told>({ toOne: detail })),
      Effect.catchTag("ApprovalOver", ({ decided_by, isDenied, status }) =>
        Effect.succeed<Told>({
          toOne:
            decided_by === undefined
              ? `The run does not wait for approval. Its status is ${status}.`
              : mrkdwn.text(`It was ${isDenied ? "denied" : "approved"} before, by ${decided_by}.`)
        })
      )
    )

  const reply = (
    team: WebhookRow["team"],
    { choice, member: { id } }: Click,
    run: Run,
    received_at: RunRequest["received_at"]
  ) =>
    Effect.gen(function* () {
      const message = run.asks?.[Number(choice)]
      if (!QuestionAnswers.isQuestion(run) || message === undefined) return yield* new NotFound()
      const triggered_by = byMember(id)
      const request_hash = createHash("sha256").update(`${triggered_by} ${message}`).digest()
      const given = { message, received_at, request_hash, triggered_by }
      yield* answer(run, given, (webhook) => webhook.enabled && webhook.team === team)
      return { toAll: `${ButtonOutcomes.mention(id)} answered: ${mrkdwn.text(message)}` } satisfies Told
    }).pipe(
      Effect.catchTags({
        IdempotencyKeyReused: () =>
          Effect.map(outcomes.whoAnswered(run), (who): Told => ({ toOne: `It was answered before, by ${who}.` })),
        RunUnfinished: () => new NotFound(),
        ThreadEnded: () => Effect.succeed<Told>({ toOne: "The conversation has ended." })
      }),
      Effect.catch((refusal): Effect.Effect<Told, NotFound | Unavailable> => {
        if (refusal._tag === "NotFound" || refusal._tag === "Unavailable") return refusal
        return Effect.succeed({ toOne: textOf(refusal) })
      })
    )

  /** `undefined`: the request is no click. It is about runs of the teams that get the webhook's requests, and no others. */
  return (webhook: OpenedWebhook, { received_at, variables: { payload } }: RunRequest) => {
    const click = clickIn(payload, sign)
    if (click === undefined) return undefined
    const { choice, member, run_id } = click
    const person = { person_id: byMember(member.id), person_name: slackActor(member).name }
    return Effect.gen(function* () {
      const run = yield* runFor(webhook, run_id)
      return typeof choice === "number" ? yield* reply(run.team, click, run, received_at) : yield* decide(click, choice)
    }).pipe(
      Effect.catchTag("NotFound", () =>
        Effect.succeed<Told>({ toOne: "The run is gone, or belongs to another team." })
      ),
      Effect.tap((told) => tell(click, told)),
      Effect.provideService(AuditStore, audit),
      Effect.provideService(Audit.Origin, { actor: "unknown", ...person }),
      Effect.as({ _tag: "Ignored", reason: "It is a click in a message.", isOfSlack: true } as const)
    )
  }
})
