import type { TeamName } from "../Team.ts"
import type { Role } from "./Roles.ts"

/** What the sender of a management request may do, and for which teams. */
export interface Grant {
  readonly role: Role
  /** Absent: all teams, also those that are created later. */
  readonly teams?: ReadonlyArray<TeamName> | undefined
}

/** Of the admin key. */
export const everything = { role: "admin" } as const satisfies Grant

export const includesTeam = ({ teams }: Pick<Grant, "teams">, team: string): boolean =>
  teams === undefined || (teams as ReadonlyArray<string>).includes(team)
