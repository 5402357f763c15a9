/** People's permissions, by their groups at the OpenID provider. */
import { Option, Predicate } from "effect"
import type { Grant } from "../../../domain/access/Grant.ts"
import type { Role } from "../../../domain/access/Roles.ts"
import type { TeamName } from "../../../domain/Team.ts"

/** In place of a group: everybody whom the provider lets in. */
const everybody = "*"

/** A group, and what it allows. */
export interface GroupRole {
  readonly group: string
  readonly role: Role
  /** Absent: all teams. */
  readonly teams?: ReadonlyArray<TeamName>
}

type Claims = { readonly [name: string]: unknown }

/**
 * A claim by its name or, if there is none, by a path of members: `realm_access.roles`. Members may have dots in their names,
 * as in `resource_access.my.app.roles`. Own properties only.
 */
const claimAt = (claims: unknown, name: string): unknown => {
  if (!Predicate.isObject(claims)) return undefined
  if (Object.hasOwn(claims, name)) return claims[name]
  for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) {
    const member = name.slice(0, dot)
    const found = Object.hasOwn(claims, member) ? claimAt(claims[member], name.slice(dot + 1)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The groups in a claim: a text, a list, or the members of an object whose values are objects. ZITADEL names roles so, each with
 * the organizations that grant it. Undefined: there is no such claim.
 */
export const groupsIn = (claims: Claims, name: string): ReadonlyArray<string> | undefined => {
  const value = claimAt(claims, name)
  if (value === undefined) return undefined
  if (Predicate.isObject(value)) return Object.keys(value).filter((key) => Predicate.isObject(value[key]))
  return (Array.isArray(value) ? value : [value]).filter(Predicate.isString)
}

/** Whether a line names a group: then nobody's role is known without their groups. */
export const needsGroups = (roles: ReadonlyArray<GroupRole>): boolean => roles.some(({ group }) => group !== everybody)

/**
 * Whether the provider has left the groups out because there are too many, and says where to ask for them: a distributed claim
 * (OpenID Connect Core 1.0, 5.6.2) or, in Entra ID's short form, `hasgroups`.
 */
export const hasTooManyGroups = (claims: Claims, name: string): boolean => {
  if (groupsIn(claims, name) !== undefined) return false
  const { _claim_names: elsewhere, hasgroups } = claims
  if (Predicate.isObject(elsewhere) && [name, name.split(".")[0]!].some((it) => Object.hasOwn(elsewhere, it)))
    return true
  return hasgroups === true || hasgroups === "true"
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
