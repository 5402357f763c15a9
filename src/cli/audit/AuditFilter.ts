import { Options } from "@effect/cli"
import { type DateTime, Option } from "effect"
import { AuditAction } from "../../domain/access/AuditEvent.ts"
import { Time, validated } from "../Validated.ts"

const actions = AuditAction.literals.join(", ")

export const filterOptions = {
  object: Options.text("object").pipe(
    Options.withPseudoName("id"),
    Options.withDescription("Only events about this webhook or session (its id) or team (its name)"),
    Options.optional
  ),
  action: Options.text("action").pipe(
    Options.withDescription(`Only events of this kind: ${actions}`),
    Options.mapTryCatch(
      ...validated(
        "--action",
        AuditAction.annotations({ message: () => ({ message: `must be one of ${actions}`, override: true }) })
      )
    ),
    Options.optional
  ),
  from: Options.text("from").pipe(
    Options.withPseudoName("time"),
    Options.withDescription("Only events at or after this time, such as 2026-01-02 or 2026-01-02T03:04:05Z"),
    Options.mapTryCatch(...validated("--from", Time)),
    Options.optional
  ),
  to: Options.text("to").pipe(
    Options.withPseudoName("time"),
    Options.withDescription("Only events before this time"),
    Options.mapTryCatch(...validated("--to", Time)),
    Options.optional
  )
}

interface Filter {
  readonly object: Option.Option<string>
  readonly action: Option.Option<AuditAction>
  readonly from: Option.Option<DateTime.Utc>
  readonly to: Option.Option<DateTime.Utc>
}

/** The parameters of a request. */
export const parametersOf = ({ action, from, object, to }: Filter) => ({
  object: Option.getOrUndefined(object),
  action: Option.getOrUndefined(action),
  from: Option.getOrUndefined(from),
  to: Option.getOrUndefined(to)
})
