/**
 * Replies in the threads of messages in Slack, each the next message of its run's conversation; and 👍 or 👎 to one, the decision
 * about a run that waits for approval.
 */
import { createHash } from "node:crypto"
import { DateTime, Effect } from "effect"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { DestinationId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { phaseOf } from "../../domain/run/RunStatus.ts"
import { type NotStarted, type Submitted, startedRunOf } from "../../domain/run/Submitted.ts"
import type { OpenedWebhook } from "../../domain/webhook/Webhook.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import { DeliveryStore } from "../../repo/delivery/DeliveryStore.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import * as Audit from "../access/Audit.ts"
import { NoAnswer, Poster } from "../egress/Poster.ts"
import { Approvals } from "../manage/Approvals.ts"
import { InputChecks } from "../prompt/InputChecks.ts"
import type { RunRequest } from "../trigger/Candidates.ts"
import * as QuestionAnswers from "../trigger/QuestionAnswers.ts"
import { textOf } from "../trigger/Refusals.ts"
import * as Sealing from "../verify/Sealing.ts"
import * as Clicks from "./Clicks.ts"
import { type SlackReaction, type SlackReply, slackEventIn } from "./SlackEvents.ts"
import { byMember, slackActor } from "./SlackMembers.ts"
import { ephemeralFault, ephemeralPost } from "./SlackMessages.ts"

const ignored = (reason: string): NotStarted => ({ _tag: "Ignored", reason, isOfSlack: true })

const notTaken = (why: string): string => `The reply is not taken. ${why}`

/** As for deliveries: it is switched on, not paused, and no failure delays it. */
const delivers = ({ enabled, paused, paused_until }: DestinationRow, now: DateTime.Utc): boolean =>
  enabled && paused !== true && (paused_until === undefined || DateTime.isLessThanOrEqualTo(paused_until, now))

/** The replies whose writers were told. Slack reports a mention twice. */
const maxTold = 1_000

export const make = Effect.gen(function* () {
  const approvals = yield* Approvals
  const audit = yield* AuditStore
  const deliveries = yield* DeliveryStore
  const destinations = yield* DestinationStore
  const sealing = yield* Sealing.make
  const { post } = yield* Poster
  const scope = yield* Effect.scope
  const told = new RecentMap<string, true>(maxTold)
  const answer = yield* QuestionAnswers.make
  const inputChecks = yield* InputChecks
  const runFor = yield* Clicks.makeRunFor

  /** Tells a member, by the destination that wrote the message, why what they did there is not taken. */
  const refuse = (
    { chat, user }: Pick<SlackReply, "chat" | "user">,
    { webhook_id }: Run,
    by: DestinationId,
    reason: string
  ) => {
    const tell = Effect.gen(function* () {
      const row = yield* destinations.destinationRow(webhook_id!, by)
      const token = sealing.open(row.id, row.sealed_secret)
      if (token === undefined || !delivers(row, yield* DateTime.now)) return
      const fault = ephemeralFault(yield* post(ephemeralPost(row.url, token, chat.thread, user, reason)))
      if (fault !== undefined) yield* new NoAnswer({ reason: fault })
    })
    if (told.has(chat.id)) return Effect.succeed(ignored(reason))
    told.set(chat.id, true)
    return tell.pipe(
      Effect.catch((error) => {
        const why = "reason" in error ? error.reason : error._tag
        return Effect.logWarning(`Slack could not be told why a reply is not taken: ${why}`)
      }),
      Effect.forkIn(scope),
      Effect.as(ignored(reason))
    )
  }

  const decide = ({ decision, id, member, user }: SlackReaction, run: Run, by: DestinationId) =>
    approvals.decide(run.run_id, decision, slackActor(member)).pipe(
      Audit.recordDecision(decision, run.run_id),
      Effect.as(ignored("It is the decision about a run that waited for approval.")),
      Effect.catchTags({
        ApprovalOver: () => Effect.succeed(ignored("The run does not wait for approval.")),
        Forbidden: ({ detail }) => refuse({ chat: { id: `${id} ${user}`, thread: id }, user }, run, by, detail)
      })
    )

  /** Files of another team's webhook would be fetched with a token of the run's team. */
  const filesIn = (webhook: OpenedWebhook, run: Run, variables: RunRequest["variables"]) =>
    webhook.team === run.team ? inputChecks.attachments(webhook, variables, []) : Effect.succeed([])

  const reply = (
    event: SlackReply,
    run: Run,
    by: DestinationId,
    { files, received_at }: Required<Pick<QuestionAnswers.QuestionAnswer, "files" | "received_at">>
  ): Effect.Effect<Submitted | undefined, Unavailable, AuditStore> => {
    const { chat, text, user } = event
    if (phaseOf(run) === "waits for approval") return refuse(event, run, by, notTaken("The run waits for approval."))
    const triggered_by = byMember(user)
    const request_hash = createHash("sha256").update(`${triggered_by} ${text}`).digest()
    const given = { message: text, received_at, chat, files, request_hash, triggered_by }
    return answer(run, given, ({ enabled, team }) => enabled && team === run.team).pipe(
      Effect.map(
        (submitted): Submitted => ({
          ...ignored("It is a reply to a run, and continues its conversation."),
          run_id: startedRunOf(submitted)
        })
      ),
      Effect.catch((refusal): Effect.Effect<Submitted | undefined, Unavailable> => {
        switch (refusal._tag) {
          case "NotFound":
          case "ThreadEnded":
            return Effect.succeed(undefined)
          case "Unavailable":
            // Slack sends the event again: at once, after a minute and after five.
            return refusal
          default:
            return refuse(event, run, by, notTaken(textOf(refusal)))
        }
      })
    )
  }

  /**
   * `undefined`: the request is neither. Else its action, if it is about a run of the teams that get the requests of the
   * webhook. It does nothing, and returns `undefined`, for a conversation or a webhook that has come to its end.
   */
  return (webhook: OpenedWebhook, { received_at, variables }: RunRequest) => {
    const event = slackEventIn(variables.payload)
    if (event === undefined) return Effect.undefined
    const person = { person_id: byMember(event.user), person_name: `${event.user} (Slack)` }
    const teams = [webhook, ...(webhook.shared_by ?? [])].map(({ team }) => team)
    return Effect.gen(function* () {
      const which = "decision" in event ? event : { before: event.chat }
      const about = yield* deliveries.runOfMessage(which, teams)
      if (about === undefined) return undefined
      const run = yield* runFor(webhook, about.run_id)
      const act: Effect.Effect<Submitted | undefined, NotFound | Unavailable, AuditStore> =
        "decision" in event
          ? decide(event, run, about.destination_id)
          : Effect.flatMap(filesIn(webhook, run, variables), (files) =>
              reply(event, run, about.destination_id, { files, received_at })
            )
      return act.pipe(
        Effect.catchTag("NotFound", () => Effect.succeed(undefined)),
        Effect.provideService(AuditStore, audit),
        Effect.provideService(Audit.Origin, { actor: "unknown", ...person })
      )
    }).pipe(Effect.catchTag("NotFound", () => Effect.succeed(undefined)))
  }
})
