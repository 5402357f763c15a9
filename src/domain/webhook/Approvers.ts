/** Who may approve the runs of a webhook. Plain data: the web UI loads it without `Schema`. */
import { mayDo, type Permission, type Role, roleNames, roles } from "../access/Roles.ts"

export const approverPattern = `^(?:self|slack|slack:[A-Z0-9]{2,30}/[A-Z0-9]{2,30}|role:(?:${roleNames.join("|")})|(?:key|person):\\S(?:[^\\r\\n,]{0,253}\\S)?)$`

/** Somebody who starts runs, replies to them, or decides about them. */
export interface Actor {
  /** As in the `triggered_by` of runs, such as `admin_key`. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** Absent: they are known by Slack alone. */
  readonly role?: Role
  /** The entries of `approvers` that mean them, except for their role. */
  readonly entries: ReadonlyArray<string>
}

export type Decision = "approve" | "deny"

type Asked = { readonly asked_by?: string; readonly triggered_by?: string }

/** Who asked for the run, by their IDs. */
const askersOf = ({ asked_by, triggered_by }: Asked): ReadonlyArray<string> => [
  ...(asked_by?.split("\n") ?? []),
  ...(triggered_by === undefined ? [] : [triggered_by])
]

/** The askers, for a run that repeats this one or follows it. */
export const askedAs = (run: Asked): Pick<Asked, "asked_by"> => {
  const askers = askersOf(run)
  return askers.length === 0 ? {} : { asked_by: askers.join("\n") }
}

type Approving = { readonly approval?: string; readonly approvers?: ReadonlyArray<string> }

const byDefault = ["role:operator", "slack"]

const includes = (role: Role, least: string): boolean =>
  Object.hasOwn(roles, least) &&
  (roles[least as Role].permissions as ReadonlyArray<Permission>).every((permission) => mayDo(role, permission))

const isNamed = ({ approvers = byDefault }: Approving, { entries, role }: Actor): boolean => {
  const names = approvers.filter((entry) => entry !== "self")
  return (names.length === 0 ? byDefault : names).some((entry) =>
    entry.startsWith("role:") ? role !== undefined && includes(role, entry.slice(5)) : entries.includes(entry)
  )
}

/**
 * Whether a run of the webhook that this actor starts waits for approval. What is not known to be an operator's own act has text of
 * strangers; so has what somebody says in Slack, even an approver.
 */
export const needsApproval = (webhook: Approving, actor?: Actor): boolean =>
  webhook.approval === "required" &&
  !(actor?.role !== undefined && mayDo(actor.role, "operate") && isNamed(webhook, actor))

/** Why the actor may not decide about the run; `undefined`: they may. */
export const refusalOf = (webhook: Approving, actor: Actor, run: Asked): string | undefined => {
  if (actor.role !== undefined && !mayDo(actor.role, "operate")) return "Only operators may approve or deny runs."
  if (!isNamed(webhook, actor)) {
    return webhook.approvers === undefined
      ? "Only operators, and members of the Slack app's own workspace, may approve or deny runs."
      : "Only those whom the webhook names (`approvers`) may approve or deny its runs."
  }
  return askersOf(run).includes(actor.id) && !webhook.approvers?.includes("self")
    ? "You asked for this run, so somebody else must approve or deny it."
    : undefined
}
