/** The buttons of messages about runs that ask, and what a click on one reports. */
import { approvalEvent, type DestinationEvent } from "../../domain/delivery/DestinationEvent.ts"
import type { RunId } from "../../domain/Id.ts"
import { membersOf } from "../../domain/Json.ts"
import type { Run } from "../../domain/run/Run.ts"
import { phaseOf } from "../../domain/run/RunStatus.ts"
import type { Decision } from "../../domain/webhook/Approvers.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { Sign } from "../egress/Signature.ts"
import { clickedBy, type SlackMember } from "./SlackMembers.ts"
import { listOf, textOf } from "./SlackText.ts"

/** A decision, or the position of a suggested reply. */
type Choice = Decision | number

export interface Button {
  readonly text: string
  /** Comes back with the click. Only a server can make it. */
  readonly value: string
  readonly style?: "primary" | "danger"
}

// Nothing else that is signed contains blanks.
const signed = (run_id: RunId, choice: Choice, sign: Sign) => `${run_id} ${choice} ${sign(`click ${run_id} ${choice}`)}`

export const buttonsOf = (run: Run, event: DestinationEvent, sign: Sign): ReadonlyArray<Button> => {
  const { asks = [], run_id } = run
  if (event === approvalEvent) {
    return phaseOf(run) === "waits for approval"
      ? [
          { text: "Approve", value: signed(run_id, "approve", sign), style: "primary" },
          { text: "Deny", value: signed(run_id, "deny", sign), style: "danger" }
        ]
      : []
  }
  return event === "run.succeeded"
    ? [...new Set(asks)].map((text) => ({ text, value: signed(run_id, asks.indexOf(text), sign) }))
    : []
}

/** Whether Slack reports clicks to the webhook, if its app does. */
export const takesClicks = ({ input, verification }: Pick<WebhookRow, "input" | "verification">): boolean =>
  input === "payload" && verification?.preset === "slack"

/** How the IDs of our buttons begin. */
export const actionPrefix = "webhook-trigger "

export interface Click {
  readonly run_id: RunId
  readonly choice: Choice
  readonly member: SlackMember
  readonly response_url: string
  /** The message's blocks, without the buttons. */
  readonly blocks: ReadonlyArray<unknown>
}

const isOurs = ({ action_id }: ReturnType<typeof membersOf>) => textOf(action_id).startsWith(actionPrefix)

const clicked = /^([\da-f-]{36}) (approve|deny|\d{1,2}) ([\da-f]{32})$/

/** A click on one of our buttons (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). */
export const clickIn = (payload: unknown, sign: Sign): Click | undefined => {
  const click = membersOf(payload)
  const { actions, message, response_url, type } = click
  const action = type === "block_actions" ? listOf(actions).find(isOurs) : undefined
  const [, id, word, signature] = clicked.exec(textOf(membersOf(action).value)) ?? []
  if (id === undefined || word === undefined) return undefined
  const run_id = id as RunId
  const choice = word === "approve" || word === "deny" ? word : Number(word)
  if (signature !== sign(`click ${run_id} ${choice}`)) return undefined
  return {
    ...{ run_id, choice, response_url: textOf(response_url) },
    member: clickedBy(click),
    blocks: listOf(membersOf(message).blocks).filter((block) => !listOf(block.elements).some(isOurs))
  }
}
