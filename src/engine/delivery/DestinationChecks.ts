import { Effect, Result, Schema } from "effect"
import {
  Destination,
  DestinationDraft,
  DestinationEdit,
  type DestinationRow
} from "../../domain/delivery/Destination.ts"
import { alertEvents, runEndEvents, runEvents } from "../../domain/delivery/DestinationEvent.ts"
import { type DestinationKind, isForAlerts, kindOf } from "../../domain/delivery/DestinationKind.ts"
import { faultOfRecipients } from "../../domain/delivery/EmailAddress.ts"
import { type Fault, Invalid } from "../../domain/Errors.ts"
import { WebhookId } from "../../domain/Id.ts"
import { decode, tokenFaults } from "../../domain/Validation.ts"
import type { Owner } from "../../repo/delivery/DestinationStore.ts"
import { AddressPolicy } from "../egress/AddressPolicy.ts"
import { faultOfAllowed } from "../trigger/Callbacks.ts"
import * as ChainTemplate from "./ChainTemplate.ts"
import { Mailer } from "./mail/Mailer.ts"
import { Outbox } from "./Outbox.ts"

/** The fields that are checked beyond their types. */
interface Checked {
  readonly isOfAlerts: boolean
  readonly events?: DestinationRow["events"]
  readonly kind?: DestinationKind
  readonly body?: DestinationRow["body"]
  readonly headers?: object | undefined
  readonly target?: string | undefined
  readonly template?: string | undefined
  readonly token?: string | undefined
  readonly url?: string | undefined
  /** For an edit: the destination before it. */
  readonly before?: DestinationRow
}

const decodeDraft = decode(DestinationDraft)
const decodeEdit = decode(DestinationEdit)

/** The API and audit events show all but the values of headers. */
const shownTokens = tokenFaults(
  Destination.fields,
  "to start another webhook's run, add a destination of the kind `chain`, or send to `/webhook/trigger` with the header `Authorization: Bearer <token>`"
)

const isWebhookId = Schema.is(WebhookId)

const faultOfWebhookId = (text: string): string | undefined =>
  isWebhookId(text) ? undefined : "must be the ID of a webhook"

/** The events that a destination gets by default. */
export const eventsOf = (owner: Owner): DestinationRow["events"] => (owner === null ? alertEvents : runEndEvents)

/** Checks of drafts and edits of destinations. Each lists every fault. */
export const make = Effect.gen(function* () {
  const policy = yield* AddressPolicy
  const outbox = yield* Outbox
  const mailer = yield* Mailer

  const faultOfUrl = (url: string) =>
    URL.canParse(url) ? policy.check(new URL(url)) : Effect.succeed("must be an https URL")

  const faultOfTarget = (kind: DestinationKind, target: string) => {
    if (kind === "email") return Effect.succeed(faultOfRecipients(target))
    return kind === "chain" ? Effect.succeed(faultOfWebhookId(target)) : outbox.faultOfTemplate(target)
  }

  const faultOfTemplate = (kind: DestinationKind, template: string) =>
    kind === "chain" ? ChainTemplate.faultOf(template, outbox.faultOfTemplate) : outbox.faultOfTemplate(template)

  /** The faults that no schema finds. */
  const faultsOf = (checked: Checked) =>
    Effect.gen(function* () {
      const { before, body, events, headers, isOfAlerts, kind = "webhook" } = checked
      const { target, template, token, url } = checked
      const data = kindOf(kind)
      const ofTemplate = template === undefined ? undefined : yield* faultOfTemplate(kind, template)
      const unknown = `is not a field of the kind ${kind}`
      const required = `is required by the kind ${kind}`
      const isNew = before === undefined
      const needsToken = isNew && data.token !== undefined
      const needsUrl = isNew && data.url !== undefined && !data.url.default
      // Else an edit of the URL could send the token and the headers elsewhere.
      const isMoved = !isNew && url !== undefined && url !== before.url
      const needsTokenAgain = isMoved && data.token !== undefined && token === undefined
      const needsHeadersAgain = isMoved && before.header_names.length > 0 && headers === undefined
      const again = "must be entered again for another URL"
      const ofRuns = kind === "chain" ? runEndEvents : runEvents
      const possible: ReadonlyArray<string> = isOfAlerts ? alertEvents : ofRuns
      const wrong = events?.find((event) => !possible.includes(event))
      const noRun = isOfAlerts && !isForAlerts(kind) ? "is not available for alerts" : undefined
      const faults: ReadonlyArray<readonly [pointer: string, detail: string | undefined]> = [
        ["/kind", noRun],
        ["/kind", isNew && kind === "email" && !mailer.isSetUp ? "needs a mail server (SMTP_URL)" : undefined],
        ["/events", wrong && `cannot contain ${wrong}: must be some of ${possible.join(", ")}`],
        ["/url", url === undefined || url === before?.url ? undefined : yield* faultOfUrl(url)],
        ["/url", kind === "callback" && url !== undefined ? faultOfAllowed(url) : undefined],
        ["/url", data.url === undefined && url !== undefined ? unknown : undefined],
        ["/url", url === undefined && needsUrl ? required : undefined],
        ["/token", token !== undefined && data.token === undefined ? unknown : undefined],
        ["/token", token === undefined && needsToken ? required : undefined],
        ["/token", needsTokenAgain ? again : undefined],
        ["/target", target && data.target === undefined ? unknown : undefined],
        ["/target", !target && data.target !== undefined ? required : undefined],
        ["/target", target ? yield* faultOfTarget(kind, target) : undefined],
        ["/headers", needsHeadersAgain ? again : undefined],
        ["/headers", headers !== undefined && data.sends !== "event" ? unknown : undefined],
        ["/template", body === "template" && !template ? "is required by `body: template`" : undefined],
        ["/template", ofTemplate]
      ]
      return faults.flatMap(([pointer, detail]) => (detail ? { pointer, detail } : []))
    })

  const checked = <A extends object>(
    decoded: Result.Result<A, ReadonlyArray<Fault>>,
    toChecked: (value: A) => Checked
  ) =>
    Effect.gen(function* () {
      if (Result.isFailure(decoded)) return yield* new Invalid({ faults: decoded.failure })
      const faults = [...shownTokens(decoded.success), ...(yield* faultsOf(toChecked(decoded.success)))]
      return faults.length > 0 ? yield* new Invalid({ faults }) : decoded.success
    })

  const draft = (isOfAlerts: boolean, input: unknown) =>
    checked(decodeDraft(input), (draft) => ({ ...draft, isOfAlerts }))

  return {
    draft: (owner: Owner, input: unknown) => draft(owner === null, input),
    ofRuns: (input: unknown) => draft(false, input),
    /** An edit of this destination. */
    edit: (row: DestinationRow, input: unknown) =>
      checked(decodeEdit(input), ({ target = row.target, template = row.template, ...edit }) => ({
        body: row.body,
        ...edit,
        isOfAlerts: row.webhook_id === undefined,
        kind: row.kind,
        target: target ?? undefined,
        template: template ?? undefined,
        before: row
      }))
  }
})
