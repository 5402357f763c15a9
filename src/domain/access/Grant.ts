import type { WebhookId } from "../Id.ts"
import type { TeamName } from "../Team.ts"
import { mayDo, type Role } from "./Roles.ts"

/** The limits of a key or a person. They combine with AND. */
export interface GrantLimits {
  /** Absent: all teams, also those that are created later. */
  readonly teams?: ReadonlyArray<TeamName> | undefined
  /** Absent: all webhooks of the teams. */
  readonly webhooks?: ReadonlyArray<WebhookId> | undefined
  /** Only runs with this `triggered_by`, and no threads. Absent: all runs and threads of the teams. */
  readonly triggered_by?: string | undefined
}

/** The permissions of a request's sender. */
export interface Grant extends GrantLimits {
  readonly role: Role
}

/** The grant of the admin key. */
export const everything = { role: "admin" } as const satisfies Grant

export const includesTeam = ({ teams }: Pick<GrantLimits, "teams">, team: string): boolean =>
  teams === undefined || (teams as ReadonlyArray<string>).includes(team)

export const includesWebhook = (
  { teams, webhooks }: Pick<GrantLimits, "teams" | "webhooks">,
  { id, team }: { readonly id: WebhookId; readonly team: TeamName }
): boolean => includesTeam({ teams }, team) && (webhooks === undefined || webhooks.includes(id))

export const isLimited = ({ teams, triggered_by, webhooks }: GrantLimits): boolean =>
  (teams ?? triggered_by ?? webhooks) !== undefined

/** Adds the limit of roles that follow only their own runs. `starter`: the `triggered_by` of these runs. */
export const ofStarter = (grant: Omit<Grant, "triggered_by">, starter: string): Grant =>
  mayDo(grant.role, "read") ? grant : { ...grant, triggered_by: starter }
