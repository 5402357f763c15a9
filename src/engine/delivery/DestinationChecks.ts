import { Effect, Either } from "effect"
import {
  Destination,
  DestinationDraft,
  DestinationEdit,
  type DestinationRow
} from "../../domain/delivery/Destination.ts"
import { type Fault, Invalid } from "../../domain/Errors.ts"
import { decode, tokenFaults } from "../manage/Validation.ts"
import { AddressPolicy } from "./AddressPolicy.ts"
import { Outbox } from "./Outbox.ts"

/** The fields that are checked beyond their types. */
interface Checked {
  readonly body?: DestinationRow["body"]
  readonly template?: string | undefined
  readonly url?: string
}

const decodeDraft = decode(DestinationDraft)
const decodeEdit = decode(DestinationEdit)

/** The API and audit events show all but the values of headers. */
const shownTokens = tokenFaults(
  Destination.fields,
  "to start another webhook's run, send to `/webhook/trigger`, with the header `Authorization: Bearer <token>`"
)

/** Checks of drafts and edits of destinations. Each lists every fault. */
export const make = Effect.gen(function* () {
  const policy = yield* AddressPolicy
  const outbox = yield* Outbox

  const faultOfUrl = (url: string) =>
    URL.canParse(url) ? policy.check(new URL(url)) : Effect.succeed("must be an https URL")

  /** What no schema finds. */
  const faultsOf = ({ body, template, url }: Checked) =>
    Effect.gen(function* () {
      const ofTemplate = template === undefined ? undefined : outbox.faultOfTemplate(template)
      const faults: ReadonlyArray<readonly [pointer: string, detail: string | undefined]> = [
        ["/url", url === undefined ? undefined : yield* faultOfUrl(url)],
        ["/template", body === "template" && !template ? "is required by `body: template`" : undefined],
        ["/template", ofTemplate]
      ]
      return faults.flatMap(([pointer, detail]) => (detail === undefined ? [] : { pointer, detail }))
    })

  const checked = <A extends object>(
    decoded: Either.Either<A, ReadonlyArray<Fault>>,
    toChecked: (value: A) => Checked
  ) =>
    Effect.gen(function* () {
      if (Either.isLeft(decoded)) return yield* new Invalid({ faults: decoded.left })
      const faults = [...shownTokens(decoded.right), ...(yield* faultsOf(toChecked(decoded.right)))]
      return faults.length > 0 ? yield* new Invalid({ faults }) : decoded.right
    })

  return {
    draft: (input: unknown) => checked(decodeDraft(input), (draft) => draft),
    /** An edit of this destination. */
    edit: (row: DestinationRow, input: unknown) =>
      checked(decodeEdit(input), ({ body = row.body, template = row.template, url }) => ({
        body,
        template: template ?? undefined,
        ...(url !== undefined && { url })
      }))
  }
})
