/** The results of the questions that buttons ask, for people in Slack. */
import { Effect } from "effect"
import { approvalEvent, type DestinationEvent } from "../../domain/delivery/DestinationEvent.ts"
import { cancellerNames } from "../../domain/run/Canceller.ts"
import type { Run } from "../../domain/run/Run.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { mrkdwn } from "../markdown/Dialects.ts"
import { memberOf } from "./SlackMembers.ts"

/** Characters of a reply. */
const ofReply = 500

export const mention = (id: string) => `<@${id.replace(/[^A-Z\d]/g, "")}>`

export const make = Effect.map(HistoryStore, (history) => {
  /** The conversation's next run. In one of thousands of runs, it is unknown. */
  const replyTo = ({ accepted_at, run_id }: Run) =>
    Effect.gen(function* () {
      const { thread } = yield* history.run(run_id)
      if (thread === undefined) return undefined
      const { data } = yield* history.runs({ thread_id: thread.id, limit: 100 })
      return data.findLast((run) => run.accepted_at.epochMilliseconds > accepted_at.epochMilliseconds)
    })

  const nameOf = (triggered_by: string | undefined): string => {
    const member = memberOf(triggered_by)
    return member === undefined ? "somebody in another place" : mention(member)
  }

  const ofQuestion = (run: Run) =>
    Effect.map(replyTo(run), (reply) => {
      if (reply === undefined) return "The conversation has ended."
      // The prompt of other runs is not what the person wrote.
      const text = reply.webhook_version === undefined ? reply.conversation.prompt.slice(0, ofReply).toWellFormed() : ""
      return `Answered by ${nameOf(reply.triggered_by)}${text === "" ? "" : `: ${mrkdwn.text(text)}`}`
    })

  const ofApproval = ({ cancelled_by, decided_by, status }: Run): string => {
    if (decided_by !== undefined) return `${cancelled_by === "denied" ? "Denied" : "Approved"} by ${decided_by}.`
    return cancelled_by === undefined ? `Its status is ${status}.` : `Cancelled by ${cancellerNames[cancelled_by]}.`
  }

  return {
    /** Who answered the question of a run that has a thread. */
    whoAnswered: (run: Run) => Effect.map(replyTo(run), (reply) => nameOf(reply?.triggered_by)),
    /** The outcome for a run that no longer asks. */
    of: (run: Run, event: DestinationEvent) =>
      event === approvalEvent ? Effect.succeed(mrkdwn.text(ofApproval(run))) : ofQuestion(run)
  }
})
