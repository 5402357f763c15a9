/**
 * Who may call the endpoints of the management: one line for each. An endpoint without a line does not compile. Plain
 * data, apart from types: the web UI loads it, too.
 */
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Permission } from "../../domain/access/Roles.ts"
import type { Api } from "../Api.ts"

/**
 * How the limits of a key are applied: its teams, its webhooks, or its own runs.
 * - `team`, `webhook`, `run`, `thread`: by the object in the path. Other objects do not exist for the key.
 * - `filtered`: the handler leaves out, or refuses, what is outside the limits.
 * - `shared`: nothing in it is of a team.
 * - `server`: it is about the whole server, so such a key may not call it.
 */
type Scope = "team" | "webhook" | "run" | "thread" | "filtered" | "shared" | "server"

/** `fresh`: a session of the web UI needs a recent sign-in for it. Requests with a key do not. */
export type Rule = readonly [permission: Permission, scope: Scope, sensitive?: "fresh"]

type GroupsOf<A> = A extends HttpApi.HttpApi<infer _Id, infer Groups> ? Groups : never
type Group = GroupsOf<typeof Api>

/** Callers have a token, and leaders a key of their team. Anyone may sign in. */
type Elsewhere = "trigger" | "leader" | "session"

type Rules = {
  readonly [G in Group as Exclude<HttpApiGroup.Identifier<G>, Elsewhere>]: {
    readonly [E in HttpApiGroup.Endpoints<G> as HttpApiEndpoint.Identifier<E>]: Rule
  }
}

const destinationRules = <const S extends Scope>(scope: S) =>
  ({
    list: ["read", scope],
    create: ["edit", scope],
    show: ["read", scope],
    edit: ["edit", scope],
    delete: ["edit", scope],
    rotateSecret: ["edit", scope, "fresh"],
    test: ["edit", scope],
    resendFailed: ["operate", scope],
    deliveries: ["read", scope],
    delivery: ["read", scope],
    resend: ["operate", scope]
  }) as const

export const rules = {
  teams: {
    list: ["read", "filtered"],
    create: ["administer", "server"],
    show: ["read", "team"],
    pause: ["operate", "team"],
    resume: ["operate", "team"],
    release: ["operate", "team"],
    delete: ["administer", "team"],
    message: ["operate", "team"],
    cancelQueued: ["operate", "team"]
  },
  leaderKeys: {
    list: ["administer", "team"],
    create: ["administer", "team", "fresh"],
    revoke: ["administer", "team"]
  },
  threads: {
    list: ["read", "team"],
    show: ["read", "thread"],
    reset: ["operate", "thread"],
    reply: ["operate", "run"]
  },
  webhooks: {
    list: ["read", "filtered"],
    create: ["edit", "filtered"],
    show: ["read", "webhook"],
    edit: ["edit", "webhook"],
    duplicate: ["edit", "webhook"],
    templates: ["read", "webhook"],
    template: ["read", "webhook"],
    restoreTemplate: ["edit", "webhook"],
    delete: ["edit", "webhook"],
    regenerate: ["edit", "webhook", "fresh"],
    endOldToken: ["edit", "webhook"],
    preview: ["read", "webhook"],
    runs: ["read", "webhook"],
    requests: ["read", "webhook"],
    request: ["read", "webhook"],
    resume: ["operate", "webhook"],
    cancelQueued: ["operate", "webhook"]
  },
  destinations: destinationRules("webhook"),
  alerts: {
    list: ["read", "filtered"],
    rules: ["read", "server"],
    createRule: ["edit", "server"],
    editRule: ["edit", "server"],
    deleteRule: ["edit", "server"]
  },
  alertDestinations: destinationRules("server"),
  /** Without `dry_run`, the handler asks for more. */
  config: { apply: ["read", "filtered"] },
  runs: {
    list: ["follow", "filtered"],
    usage: ["read", "filtered"],
    exportCsv: ["read", "filtered", "fresh"],
    exportJsonLines: ["read", "filtered", "fresh"],
    cancelSome: ["operate", "filtered"],
    show: ["follow", "run"],
    events: ["follow", "run"],
    steps: ["read", "run"],
    files: ["follow", "run"],
    file: ["follow", "run"],
    cancel: ["call", "run"],
    decide: ["operate", "run"],
    start: ["operate", "run"],
    replay: ["operate", "run"],
    replays: ["read", "run"],
    replayMany: ["operate", "filtered"]
  },
  apiKeys: {
    list: ["administer", "server"],
    create: ["administer", "server", "fresh"],
    revoke: ["administer", "server"],
    current: ["follow", "shared"]
  },
  sessions: {
    list: ["administer", "server"],
    end: ["administer", "server"],
    endAll: ["administer", "server"]
  },
  audit: {
    list: ["audit", "server"],
    exportCsv: ["audit", "server", "fresh"],
    exportJsonLines: ["audit", "server", "fresh"]
  },
  overview: {
    server: ["read", "shared"],
    activity: ["read", "filtered"],
    totals: ["read", "filtered"],
    now: ["read", "filtered"],
    statistics: ["read", "webhook"],
    run: ["call", "webhook"],
    previewDraft: ["read", "shared"],
    teamRuns: ["read", "team"],
    events: ["read", "filtered"]
  }
} as const satisfies Rules

/** Undefined for what is not part of the management. */
export const ruleOf = (group: string, endpoint: string): Rule | undefined =>
  (rules as { readonly [group: string]: { readonly [endpoint: string]: Rule } })[group]?.[endpoint]
