/** Who may do what: API keys, leader keys and sessions; and who did it. */
import { DateTime } from "effect"
import type { ListedSession } from "../api/access/Sessions.ts"
import type { ApiKey } from "../domain/access/ApiKey.ts"
import type { AuditEvent } from "../domain/access/AuditEvent.ts"
import type { LeaderKey } from "../domain/access/LeaderKey.ts"
import { roleNames, roles } from "../domain/access/Roles.ts"
import { derived, group } from "./Command.ts"
import { downloadCommand } from "./Download.ts"
import { fieldRule } from "./Input.ts"
import { listText, plural, shortId, shortIdOf, time } from "./Output.ts"

const limitsOf = ({ teams = [], webhooks }: ApiKey): string =>
  [...teams, ...(webhooks === undefined ? [] : [plural(webhooks.length, "webhook")])].join(", ") || "none"

const endOf = ({ expires_at, revoked_at }: ApiKey): string => {
  if (revoked_at !== undefined) return `revoked ${time(revoked_at)}`
  if (expires_at === undefined) return "never"
  return `${expires_at.epochMilliseconds <= Date.now() ? "expired " : ""}${time(expires_at)}`
}

const lastUsed = ({ last_used_at }: { readonly last_used_at?: DateTime.Utc | undefined }) => last_used_at ?? "never"

export const apiKeys = group("key", "API keys: who may manage this server, with which role.", [
  derived("list", "apiKeys.list", {
    text: listText<ApiKey>(
      {
        NAME: "name",
        KEY: shortIdOf,
        ROLE: "role",
        LIMITS: limitsOf,
        EXPIRES: endOf,
        "LAST USED": lastUsed,
        "ENDS IN": "hint"
      },
      "No API keys yet. Create one: webhook-trigger key create --name ci-deploy --role operator"
    )
  }),
  derived("create", "apiKeys.create", {
    details: "Prints the key, which is shown only once. Use it as ADMIN_API_KEY, or sign in to the web UI with it.",
    examples: [
      "webhook-trigger key create --name ci-deploy --role operator --teams deploy > ci.key",
      "webhook-trigger key create --name assistant --role caller --webhook 'Review pull requests'"
    ],
    rules: {
      role: (field) =>
        fieldRule(field, { about: roleNames.map((each) => `${each}: ${roles[each].description}`).join("; ") })
    },
    text: ({ key }) => key
  }),
  derived("revoke", "apiKeys.revoke", {
    ask: () => "Revoke this API key? Programs that use it stop working, and its sessions end.",
    text: () => "The key was revoked."
  }),
  derived("show", "apiKeys.current", {
    text: ({ expires_at, key_name, role, teams, webhooks }) =>
      [
        `Key      ${key_name ?? "the admin key"}`,
        `Role     ${role}: ${roles[role].description}`,
        `Teams    ${teams?.join(", ") ?? "all"}`,
        ...(webhooks === undefined ? [] : [`Webhooks ${webhooks.join(", ")}`]),
        `Expires  ${time(expires_at) ?? "never"}`
      ].join("\n")
  })
])

export const leaderKeys = group("leader-key", "Keys with which leaders get their team's prompts over HTTP.", [
  derived("list", "leaderKeys.list", {
    text: (keys, { request: { params } }) =>
      listText<LeaderKey>(
        { NAME: "name", KEY: shortIdOf, "ENDS IN": "hint", CREATED: "created_at", "LAST USED": lastUsed },
        `No leader keys yet. Create one: webhook-trigger team leader-key create ${params.team} --name laptop`
      )(keys)
  }),
  derived("create", "leaderKeys.create", {
    details: "Prints the key, which is shown only once. With it, a leader gets the team's prompts over HTTP.",
    examples: ["webhook-trigger team leader-key create review --name laptop > review.key"],
    text: ({ key }) => key
  }),
  derived("revoke", "leaderKeys.revoke", {
    ask: ({ request }) => `Revoke this key of the team ${request.params.team}? Leaders that use it stop working.`,
    text: () => "The key was revoked."
  })
])

const clientOf = ({ oauth_client, user_agent }: ListedSession) =>
  oauth_client === undefined ? user_agent : `${oauth_client} (access token)`

export const sessions = group("session", "Sessions: who is signed in to the web UI.", [
  derived("list", "sessions.list", {
    text: listText<ListedSession>(
      {
        CLIENT: clientOf,
        SESSION: shortIdOf,
        "SIGNED IN": "created_at",
        "LAST USED": "last_used_at",
        FROM: "client_address"
      },
      "Nobody is signed in."
    )
  }),
  derived("end", "sessions.end", { text: () => "The session was ended." }),
  derived("end-all", "sessions.endAll", {
    ask: () => "End all sessions? Everyone must sign in again.",
    text: () => "All sessions were ended."
  })
])

export const actorOf = ({ actor, key_name, person_name }: Pick<AuditEvent, "actor" | "key_name" | "person_name">) =>
  [actor, key_name ?? person_name].filter(Boolean).join(" ")

/** The changed fields, as in `name, enabled`, or the number of attempts. */
const changed = ({ before, after, attempts }: AuditEvent): string =>
  attempts === undefined
    ? [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].join(", ")
    : `${attempts} attempts`

export const audit = group("audit", "Audit events: who did what, and from where.", [
  derived("list", "audit.list", {
    examples: [
      "webhook-trigger audit list --action webhook.deleted",
      "webhook-trigger audit list --json | jq '.data[] | [.action, .before, .after]'"
    ],
    text: listText<AuditEvent>(
      {
        ...{ TIME: "at", ACTION: "action", ACTOR: actorOf, OBJECT: ({ object }) => object && shortId(object) },
        ...{ FROM: "client_address", FIELDS: changed, SESSION: ({ session_id }) => session_id && shortId(session_id) }
      },
      "No events.",
      "Older events"
    )
  }),
  downloadCommand("audit.exportCsv", "audit.exportJsonLines", {
    about: "Export all audit events that match the filters, oldest first",
    examples: ["webhook-trigger audit export --from 2026-01-01 --output audit.jsonl"]
  })
])
