/**
 * A webhook's optional settings, each defined once: its schema, its column, its command-line option, and its field and
 * its line in the web UI follow from its entry here. Plain data: the web UI loads it without `Schema`, which is 120 KB
 * of compressed JavaScript.
 */

import { rateAccepts, ratePattern } from "./Rate.ts"
import type { SettingValue, WebhookSetting } from "./WebhookSettingKinds.ts"

export const webhookSettings = {
  input: {
    kind: "choice",
    group: "template",
    words: ["variables", "payload"],
    description:
      "What a request fills the template in with: the `variables` in its JSON body (`variables`, the default), or the request itself (`payload`), as `payload`, `headers` and `query`, whatever its body: JSON, a form or text.",
    label: "Input",
    option: "input",
    value: "variables|payload",
    help: "What fills the template in: the `variables` of the body, or the whole request, whatever service sends it",
    default: "variables"
  },
  template_language: {
    kind: "choice",
    group: "template",
    words: ["simple", "liquid"],
    description:
      "What the template is written in: `{{name}}` for values (`simple`, the default), or Liquid, with filters, conditions and loops (`liquid`).",
    label: "Template language",
    option: "template-language",
    value: "simple|liquid",
    help: "What the template is written in: `{{name}}` alone, or Liquid with filters, conditions and loops",
    default: "simple"
  },
  timeout_seconds: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "How many seconds a run may take; if absent, the server's `WEBHOOK_TIMEOUT` applies.",
    label: "Timeout",
    option: "timeout",
    value: "seconds",
    help: "How long a run may take before it times out",
    default: "the server's WEBHOOK_TIMEOUT",
    serverDefault: "webhook_timeout_seconds"
  },
  max_concurrent: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 10_000,
    description:
      "How many runs may be in progress at the same time; if absent, the server's `WEBHOOK_MAX_CONCURRENT` applies.",
    label: "Concurrency limit",
    option: "max-concurrent",
    value: "count",
    help: "How many runs may be in progress at the same time; further runs are queued",
    default: "the server's WEBHOOK_MAX_CONCURRENT",
    serverDefault: "webhook_max_concurrent"
  },
  max_queued: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 10_000_000,
    description:
      "How many accepted runs may wait to be sent; further triggers are refused with 429. If absent, a tenth of the server's `WEBHOOK_MAX_QUEUED` applies, which is the limit of all webhooks together.",
    label: "Queue limit",
    option: "max-queued",
    value: "count",
    help: "How many runs may wait; further triggers are refused",
    default: "a tenth of the server's WEBHOOK_MAX_QUEUED",
    serverDefault: "webhook_max_queued"
  },
  rate: {
    kind: "text",
    group: "limits",
    pattern: ratePattern,
    accepts: rateAccepts,
    description:
      "How many triggers are accepted in which time, such as `60/min` (`sec`, `min`, `hour` or `day`); further ones are refused with 429. As many may come at once after a pause; then they are accepted evenly over that time. If absent, there is no limit.",
    label: "Rate limit",
    option: "rate",
    value: "count/time",
    help: "How many triggers are accepted in which time, such as 60/min; further triggers are refused",
    default: "no limit"
  },
  when_team_stopped: {
    kind: "choice",
    group: "failures",
    words: ["refuse", "queue"],
    description:
      "What becomes of a trigger while the team has no leader: it is refused with 409 (`refuse`, the default), or accepted, and sent once there is a leader (`queue`). A caller that waits for the answer is refused in any case.",
    label: "While the team has no leader",
    option: "when-team-stopped",
    value: "refuse|queue",
    help: "What becomes of a trigger while the team has no leader: it is refused, or it waits for one",
    default: "refuse"
  },
  queue_for_seconds: {
    kind: "whole number",
    group: "failures",
    min: 1,
    max: 2_592_000,
    unit: "seconds",
    description:
      "With `when_team_stopped: queue`, how many seconds a run may wait for a leader; then it ends as `error`, code `team_not_running`. If absent, 24 hours.",
    label: "Longest wait for a leader",
    option: "queue-for",
    value: "seconds",
    help: "How long a trigger waits for a leader, if it does",
    default: "24 hours"
  },
  retries: {
    kind: "retries",
    group: "failures",
    mostAttempts: 10,
    mostSeconds: 86_400,
    description:
      "Whether a run that ends as `error` is tried again, as a new run: up to `attempts` times (1 to 10), `backoff_seconds` (1 to 86400) after the first failure and twice as long after each further one, a day at most. Not after a timeout, not when no leader came in time, and not if the caller waits for the answer, who is told. If absent, not at all.",
    label: "Retries",
    option: "retries",
    value: "attempts/seconds",
    help: "How often a failed run is tried again, and after how many seconds, such as 3/60; the time doubles",
    default: "none"
  },
  allow_from: {
    kind: "networks",
    group: "callers",
    most: 100,
    description:
      "The addresses and networks (CIDR) from which the webhook may be called; others get 401. Behind proxies, the server's `TRUSTED_PROXIES` must name them. If absent, from anywhere.",
    label: "Allowed callers",
    option: "allow-from",
    value: "networks",
    help: "The addresses and networks from which it may be called, such as 192.0.2.7,10.0.0.0/8",
    default: "from anywhere"
  },
  accept_if: {
    kind: "expression",
    group: "requests",
    language: "JMESPath",
    maxLength: 4_096,
    description:
      'A JMESPath expression over the variables or, with `input: payload`, over `payload`, `headers` and `query`. A trigger for which it is false, null or empty is answered with 200 `{"status":"ignored"}` and starts no run. If absent, every trigger is accepted.',
    label: "Accept only if",
    option: "accept-if",
    value: "expression",
    help: "A JMESPath expression over the input, such as branch == 'main'; other triggers are ignored",
    default: "every trigger"
  },
  coalesce: {
    kind: "window",
    group: "requests",
    longest: 3_600,
    description:
      "Triggers with the same value at `key`, a name as in the template, become one run, if they arrive within `within` seconds of the first. The run then takes its place in the team's lane, with the values of the last trigger. Every caller gets the run's id, and none can wait for its answer. If absent, every trigger is a run.",
    label: "Coalesce bursts",
    option: "coalesce",
    value: "key seconds",
    help: "Triggers with the same value at this name, within so many seconds of the first, become one run: branch 30",
    default: "every trigger is a run"
  },
  schema: {
    kind: "json",
    group: "requests",
    maxLength: 65_536,
    description:
      "A JSON Schema (draft 2020-12) that the variables must match; else the trigger is refused with 422, with a pointer to each fault. It may refer to its own parts only (`$ref` to `#…`); `$dynamicRef` is not supported. If absent, anything is accepted.",
    label: "JSON Schema",
    option: "schema",
    value: "json",
    help: "The JSON Schema (2020-12) that variables must match; other triggers are refused",
    default: "none"
  },
  fence: {
    kind: "switch",
    group: "template",
    description:
      "Whether every value that is inserted into the prompt stands between marks that are random for each run and cannot occur in the value, and one sentence before the prompt says that what is between them is data and not an instruction. A help against prompt injection, not a guarantee. If absent, it does not.",
    label: "Mark values as data",
    option: "fence",
    value: "true|false",
    help: "Whether the prompt marks every inserted value as data, not instructions; a help against prompt injection, not a guarantee",
    default: "false"
  },
  keep_bodies: {
    kind: "choice",
    group: "requests",
    words: ["none", "refused", "all"],
    description:
      "Of which requests the headers and the first 64 KB of the body are kept for a day, for whoever manages the webhook: of none (`none`, the default), of the newest 100 that were refused (`refused`), or also of the newest 20 others (`all`). They can be used to write and try a template.",
    label: "Kept bodies",
    option: "keep-bodies",
    value: "none|refused|all",
    help: "Of which requests headers and body are kept for a day, to see what came, and to write and try a template with it",
    default: "none"
  }
} as const satisfies { readonly [name: string]: WebhookSetting }

export type WebhookSettingName = keyof typeof webhookSettings

/** The values of a webhook's settings, by name. */
export type SettingValues = {
  readonly [Name in WebhookSettingName]: SettingValue<(typeof webhookSettings)[Name]>
}

export const webhookSettingNames = Object.keys(webhookSettings) as ReadonlyArray<WebhookSettingName>
