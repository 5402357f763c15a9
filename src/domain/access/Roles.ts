/** Who may do what. Plain data: the web UI loads it without `Schema`. */

/**
 * - `follow`: reads and watches runs. Without `read`: only its own runs.
 * - `call`: starts runs of webhooks, and cancels runs that it may follow.
 * - `read`: everything but the audit log, keys and sessions.
 * - `operate`: what changes runs, not their webhooks.
 * - `edit`: webhooks, destinations and the rules of alerts.
 * - `audit`: the audit log.
 * - `administer`: keys, teams and sessions.
 */
export type Permission = "follow" | "call" | "read" | "operate" | "edit" | "audit" | "administer"

interface RoleFacts {
  /** For people, after the role's name. */
  readonly description: string
  readonly permissions: ReadonlyArray<Permission>
}

/** The roles, the least one that has a permission before the others. */
export const roles = {
  caller: {
    description: "starts runs of webhooks, and follows and cancels only these runs",
    permissions: ["follow", "call"]
  },
  viewer: { description: "reads everything but the audit log, keys and sessions", permissions: ["follow", "read"] },
  operator: {
    description: "also starts, cancels and replays runs, pauses teams, sends messages and resends deliveries",
    permissions: ["follow", "call", "read", "operate"]
  },
  editor: {
    description: "also creates, edits and deletes webhooks, destinations and alert rules",
    permissions: ["follow", "call", "read", "operate", "edit"]
  },
  auditor: { description: "reads what a viewer may read, and the audit log", permissions: ["follow", "read", "audit"] },
  admin: {
    description: "may do everything",
    permissions: ["follow", "call", "read", "operate", "edit", "audit", "administer"]
  }
} as const satisfies { readonly [role: string]: RoleFacts }

export type Role = keyof typeof roles

export const roleNames = Object.keys(roles) as [Role, ...Array<Role>]

export const mayDo = (role: Role, permission: Permission): boolean =>
  (roles[role].permissions as ReadonlyArray<Permission>).includes(permission)

/** The least role with the permission. */
export const leastRoleFor = (permission: Permission): Role => roleNames.find((role) => mayDo(role, permission))!
