/**
 * Replies in the threads of messages in Slack, each the next message of its run's conversation; and 👍 or 👎 to one, the decision
 * about a run that waits for approval.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import type { Run } from "../../domain/run/Run.ts"
import { phaseOf } from "../../domain/run/RunStatus.ts"
import type { OpenedWebhook } from "../../domain/webhook/Webhook.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import { DeliveryStore } from "../../repo/delivery/DeliveryStore.ts"
import * as Audit from "../access/Audit.ts"
import { takesClicks } from "../delivery/Buttons.ts"
import { byMember, type SlackReaction, type SlackReply, slackEventIn } from "../delivery/SlackEvents.ts"
import { Approvals } from "../manage/Approvals.ts"
import type { RunRequest } from "./Candidates.ts"
import * as Clicks from "./Clicks.ts"
import * as QuestionAnswers from "./QuestionAnswers.ts"
import type { Trigger } from "./Trigger.ts"

const ignored = (reason: string) => ({ _tag: "Ignored", reason, isOfSlack: true }) as const

/** Slack sends the event again, three times within six minutes. */
const unfinished = new Unavailable({
  what: "server",
  detail: "The run has not ended, so it cannot be continued yet. Try again in a minute."
})

export const make = Effect.gen(function* () {
  const approvals = yield* Approvals
  const audit = yield* AuditStore
  const deliveries = yield* DeliveryStore
  const answer = yield* QuestionAnswers.make
  const runFor = yield* Clicks.makeRunFor

  const decide = ({ decision, user }: SlackReaction, { run_id }: Run) =>
    approvals.decide(run_id, decision, `${user} (Slack)`).pipe(
      Audit.recordDone<Run>(decision === "approve" ? "run.approved" : "run.denied", run_id),
      Effect.as(ignored("It is the decision about a run that waited for approval.")),
      Effect.catchTag("ApprovalOver", () => Effect.succeed(ignored("The run does not wait for approval.")))
    )

  const reply = (
    trigger: Pick<Trigger["Type"], "open" | "triggerRead">,
    { id, text, user }: SlackReply,
    run: Run,
    received_at: RunRequest["received_at"]
  ) => {
    const triggered_by = byMember(user)
    const request_hash = createHash("sha256").update(`${triggered_by} ${text}`).digest()
    const given = { message: text, received_at, reply_id: id, request_hash, triggered_by }
    return answer(trigger, run, given, ({ enabled, team }) => enabled && team === run.team).pipe(
      Effect.map((submitted) => ({
        ...ignored("It is a reply to a run, and continues its conversation."),
        run_id: submitted._tag === "Accepted" ? submitted.run_id : submitted.run.run_id
      })),
      Effect.catchTags({
        RunUnfinished: () => unfinished,
        ThreadEnded: () => Effect.succeed(ignored("The conversation has ended."))
      })
    )
  }

  /**
   * `undefined`: the request is neither. Else what it does, or again `undefined` if it is about none of the runs of the teams that
   * get the webhook's requests.
   */
  return (
    trigger: Pick<Trigger["Type"], "open" | "triggerRead">,
    webhook: OpenedWebhook,
    { received_at, variables: { payload } }: RunRequest
  ) => {
    const event = takesClicks(webhook) ? slackEventIn(payload) : undefined
    if (event === undefined) return undefined
    const person = { person_id: byMember(event.user), person_name: `${event.user} (Slack)` }
    return Effect.gen(function* () {
      const run_id = yield* deliveries.runOfMessage(event.about)
      if (run_id === undefined) return undefined
      const run = yield* runFor(trigger, webhook, run_id)
      if ("decision" in event && phaseOf(run) !== "waits for approval") return undefined
      return ("decision" in event ? decide(event, run) : reply(trigger, event, run, received_at)).pipe(
        Effect.catchTag("NotFound", () => Effect.succeed(ignored("The run is gone, or its webhook is switched off."))),
        Effect.provideService(AuditStore, audit),
        Effect.provideService(Audit.Origin, { actor: "unknown", ...person })
      )
    }).pipe(Effect.catchTag("NotFound", () => Effect.succeed(undefined)))
  }
})
