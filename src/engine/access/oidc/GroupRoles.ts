/** What people may do, by their groups at the OpenID provider. */
import { Option, Predicate } from "effect"
import type { Grant } from "../../../domain/access/Grant.ts"
import type { Role } from "../../../domain/access/Roles.ts"
import type { TeamName } from "../../../domain/Team.ts"

/** In place of a group: everybody whom the provider lets in. */
export const everybody = "*"

/** A group, and what it allows. */
export interface GroupRole {
  readonly group: string
  readonly role: Role
  /** Absent: all teams. */
  readonly teams?: ReadonlyArray<TeamName>
}

type Claims = { readonly [name: string]: unknown }

/** A claim by its name or, if there is none, by a path of members: `realm_access.roles`. Own properties only. */
const claimAt = (claims: Claims, name: string): unknown => {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split(".")) {
    if (!Predicate.isRecord(value) || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

/** The groups in a claim: a text, or a list. Undefined: there is no such claim. */
export const groupsIn = (claims: Claims, name: string): ReadonlyArray<string> | undefined => {
  const value = claimAt(claims, name)
  if (value === undefined) return undefined
  return (Array.isArray(value) ? value : [value]).filter(Predicate.isString)
}

/**
 * The first line with one of the groups decides the role. Further lines of that role add their teams. So more groups never
 * give a role that an operator has put further down. None: no group allows anything.
 */
export const grantOf = (roles: ReadonlyArray<GroupRole>, groups: ReadonlyArray<string>): Option.Option<Grant> => {
  const matching = roles.filter(({ group }) => group === everybody || groups.includes(group))
  const [first] = matching
  if (first === undefined) return Option.none()
  const { role } = first
  const limits = matching.filter((line) => line.role === role).map(({ teams }) => teams)
  const teams = limits.every((limit) => limit !== undefined) ? [...new Set(limits.flat())] : undefined
  return Option.some({ role, ...(teams && { teams }) })
}
