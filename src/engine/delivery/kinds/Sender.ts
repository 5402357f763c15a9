/** The interface of each kind of destination. */
import type { Effect } from "effect"
import type { DestinationRow } from "../../../domain/delivery/Destination.ts"
import type { DestinationEvent } from "../../../domain/delivery/DestinationEvent.ts"
import type { DestinationId, RunId } from "../../../domain/Id.ts"
import type { Run } from "../../../domain/run/Run.ts"
import type { ChatMessage } from "../../../repo/delivery/DeliveryStore.ts"
import type { Answer, NoAnswer, Post } from "../../egress/Poster.ts"
import type { Sign } from "../../egress/Signature.ts"
import type { MarkdownText, Shown } from "../../markdown/Shown.ts"
import type { Button } from "../../slack/Buttons.ts"

/** The message to be sent. */
export interface Message {
  /** The same for all attempts of a delivery. */
  readonly id: string
  /** The time of the attempt. */
  readonly at: Date
  /** An event as JSON or by template; of a kind that sends messages, Markdown. */
  readonly body: string
  /** In a line, as plain text: for notifications. */
  readonly title: string
  /** The value of `target` for this run; empty without one. */
  readonly target: string
  /** The page of the run, if its address is known. */
  readonly page?: string
  readonly event: DestinationEvent
  /** The run's place among others: its ID, which begins with the time. */
  readonly order: string
  /** The run that it is about, unless that is an alert. */
  readonly run?: Run
  /** The buttons of a run that asks, where somebody takes their clicks. */
  readonly buttons?: ReadonlyArray<Button>
  /** The result of the question, in Slack's notation, in place of the buttons. */
  readonly outcome?: string | undefined
  /** The message is in the chat already, and this replaces it. */
  readonly written?: ChatMessage | undefined
  readonly isTest: boolean
}

/** Where it is sent, with the secrets. */
export interface Access {
  readonly id: DestinationId
  /** The whole one, also if it is secret. */
  readonly url: string
  /** The token, for a kind that has one. Else the secrets that events are signed with, the newest first. */
  readonly secrets: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  readonly sign: Sign
  /** The ID of the comment for this target, if there was one. */
  readonly comment?: string | undefined
  /** The teams, for `chain`. */
  readonly teams?: DestinationRow["chain_teams"]
}

/** The result of an attempt. */
export type Sent = Answer & {
  /** Why it was no success, if the status does not say so. */
  readonly fault?: string
  /** No other attempt would be a success. */
  readonly isFinal?: true
  /** No other attempt for this run would be a success, which says nothing about others. */
  readonly isOfRun?: true
  /** It may accept another attempt, and is not failing. */
  readonly isBusy?: true
  /** Whom the service names as the author, as in `DestinationStore.isAuthor`. */
  readonly authors?: ReadonlyArray<string>
  /** The ID of the comment that was written. */
  readonly comment_id?: string
  /** The message that was written, to which people can reply. */
  readonly chat?: ChatMessage
  /** For `chain`: the run that was started. */
  readonly started_run?: RunId
  /** The token sees nothing of the repository, project or channel. */
  readonly isPlaceHidden?: true
  /** The service refuses this place, which says nothing about others. */
  readonly isOfPlace?: true
}

export interface Email {
  /** The same for all attempts of a delivery, so that a repeated e-mail can be recognized. */
  readonly id: string
  readonly to: ReadonlyArray<string>
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly at: Date
}

export type Send = (post: Post) => Effect.Effect<Answer, NoAnswer>

/** The operations that senders use. */
export interface Means {
  readonly send: Send
  readonly mail: (email: Email) => Effect.Effect<Sent, NoAnswer>
  /** Starts a run of the target, as an HTTP request to the webhook would. */
  readonly start: (message: Message, teams: DestinationRow["chain_teams"]) => Effect.Effect<Sent>
  /** The message as the service shows it. */
  readonly show: <Service extends keyof Shown>(
    service: Service,
    message: MarkdownText
  ) => Effect.Effect<Shown[Service], NoAnswer>
}

/** Makes one attempt. Fails if there was no answer, or the message has no place to go to. */
export type Sender = (message: Message, access: Access, means: Means) => Effect.Effect<Sent, NoAnswer>
