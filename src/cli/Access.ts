/** Who may do what: API keys, leader keys and sessions; and who did it. */
import { DateTime } from "effect"
import type { ApiKey } from "../domain/access/ApiKey.ts"
import type { AuditEvent } from "../domain/access/AuditEvent.ts"
import type { LeaderKey } from "../domain/access/LeaderKey.ts"
import { roleNames, roles } from "../domain/access/Roles.ts"
import type { ListedSession } from "../api/access/Sessions.ts"
import { derived, group } from "./Command.ts"
import { downloadCommand } from "./Download.ts"
import { fieldRule } from "./Input.ts"
import { ago, listText, time } from "./Output.ts"

const limitsOf = ({ teams, webhooks }: ApiKey): string =>
  [
    ...(teams ?? []),
    ...(webhooks === undefined ? [] : [webhooks.length === 1 ? "1 webhook" : `${webhooks.length} webhooks`])
  ].join(", ") || "none"

const endOf = ({ expires_at, revoked_at }: ApiKey, now: DateTime.Utc): string => {
  if (revoked_at !== undefined) return `revoked ${time(revoked_at)}`
  if (expires_at === undefined) return "never"
  return `${DateTime.isLessThanOrEqualTo(expires_at, now) ? "expired " : ""}${time(expires_at)}`
}

const lastUsed = ({ last_used_at }: { readonly last_used_at?: DateTime.Utc | undefined }) =>
  last_used_at === undefined ? "never" : ago(last_used_at)

export const apiKeys = group("key", "API keys: who may manage this server, with which role.", [
  derived("list", "apiKeys.list", {
    beside: () => DateTime.now,
    text: (keys, _, now) =>
      listText<ApiKey>(
        {
          KEY: ({ id }) => id,
          NAME: ({ name }) => name,
          ROLE: ({ role }) => role,
          LIMITS: limitsOf,
          "ENDS IN": ({ hint }) => hint,
          "LAST USED": lastUsed,
          EXPIRES: (key) => endOf(key, now)
        },
        "No API keys yet. Create one: webhook-trigger key create --name ci-deploy --role operator"
      )(keys)
  }),
  derived("create", "apiKeys.create", {
    about: "Create an API key for a person or a program",
    details: "Prints the key, which is shown only once. Use it as ADMIN_API_KEY, or sign in to the web UI with it.",
    examples: [
      "webhook-trigger key create --name ci-deploy --role operator --teams deploy > ci.key",
      "webhook-trigger key create --name assistant --role caller --webhook 'Review pull requests'",
      "webhook-trigger key create --name Rosa --role editor --expires 2026-12-31"
    ],
    rules: {
      role: (field) =>
        fieldRule(field, { about: roleNames.map((each) => `${each}: ${roles[each].description}`).join("; ") })
    },
    text: ({ key }) => key
  }),
  derived("revoke", "apiKeys.revoke", {
    details: "Takes effect immediately, on every server.",
    ask: () => "Revoke this API key? Programs that use it stop working, and its sessions end.",
    text: () => "The key was revoked."
  }),
  derived("show", "apiKeys.current", {
    about: "Show the role and the teams of your own key",
    text: ({ expires_at, key_name, role, teams, webhooks }) =>
      [
        `Key      ${key_name ?? "the admin key"}`,
        `Role     ${role}: ${roles[role].description}`,
        `Teams    ${teams?.join(", ") ?? "all"}`,
        ...(webhooks === undefined ? [] : [`Webhooks ${webhooks.join(", ")}`]),
        `Expires  ${expires_at === undefined ? "never" : time(expires_at)}`
      ].join("\n")
  })
])

export const leaderKeys = group("leader-key", "Keys with which leaders get their team's prompts over HTTP.", [
  derived("list", "leaderKeys.list", {
    text: (keys, { request }) =>
      listText<LeaderKey>(
        {
          KEY: ({ id }) => id,
          NAME: ({ name }) => name,
          "ENDS IN": ({ hint }) => hint,
          CREATED: ({ created_at }) => ago(created_at),
          "LAST USED": lastUsed
        },
        `No leader keys yet. Create one: webhook-trigger team leader-key create ${request.params.team} --name laptop`
      )(keys)
  }),
  derived("create", "leaderKeys.create", {
    about: "Create a key for a team's leader",
    details: "Prints the key, which is shown only once. With it, a leader gets the team's prompts over HTTP.",
    examples: ["webhook-trigger team leader-key create review --name laptop > review.key"],
    text: ({ key }) => key
  }),
  derived("revoke", "leaderKeys.revoke", {
    details: "Takes effect immediately, on every server.",
    ask: ({ request }) =>
      `Revoke this key of the team ${request.params.team}? Leaders that use it stop working.`,
    text: () => "The key was revoked."
  })
])

export const sessions = group("session", "Sessions: who is signed in to the web UI.", [
  derived("list", "sessions.list", {
    about: "List browsers that are signed in to the web UI, and access tokens of AI assistants",
    text: listText<ListedSession>(
      {
        SESSION: ({ id }) => id,
        "SIGNED IN": ({ created_at }) => ago(created_at),
        "LAST USED": ({ last_used_at }) => ago(last_used_at),
        FROM: ({ client_address }) => client_address,
        CLIENT: ({ oauth_client, user_agent }) =>
          oauth_client === undefined ? user_agent : `${oauth_client} (access token)`
      },
      "Nobody is signed in."
    )
  }),
  derived("end", "sessions.end", {
    about: "End one session",
    details: "The browser must sign in again.",
    text: () => "The session was ended."
  }),
  derived("end-all", "sessions.endAll", {
    ask: () => "End all sessions? Everyone must sign in again.",
    text: () => "All sessions were ended."
  })
])

/** The changed fields, as in `name, enabled`, or the number of attempts. */
const changed = ({ before, after, attempts }: AuditEvent): string =>
  attempts === undefined
    ? [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].join(", ")
    : `${attempts} attempts`

export const audit = group("audit", "Audit events: who did what, and from where.", [
  derived("list", "audit.list", {
    about: "List who did what, newest first",
    details: "Management actions, web UI sessions and wrong keys. With --json, also the values before and after.",
    examples: [
      "webhook-trigger audit list --action webhook.deleted",
      "webhook-trigger audit list --json | jq '.data[] | [.action, .before, .after]'"
    ],
    text: listText<AuditEvent>(
      {
        TIME: ({ at }) => ago(at),
        ACTION: ({ action }) => action,
        OBJECT: ({ object }) => object,
        ACTOR: ({ actor, key_name, person_name }) => [actor, key_name ?? person_name].filter(Boolean).join(" "),
        SESSION: ({ session_id }) => session_id,
        FROM: ({ client_address }) => client_address,
        FIELDS: changed
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
