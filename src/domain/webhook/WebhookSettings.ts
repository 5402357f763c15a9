/**
 * A webhook's optional settings. The schema, the column, the command-line option and the web UI's field are derived from
 * each entry. Plain data: the web UI loads it without `Schema`, which is 120 KB of compressed JavaScript.
 */

import { approverPattern } from "./Approvers.ts"
import { rateAccepts, ratePattern } from "./Rate.ts"
import { scheduleAccepts, schedulePattern } from "./Schedule.ts"
import type { SettingValue, WebhookSetting } from "./WebhookSettingKinds.ts"

export const webhookSettings = {
  input: {
    kind: "choice",
    group: "template",
    words: ["variables", "payload"],
    description:
      "What the template can use: the `variables` in the JSON body (`variables`, the default), or the whole request as `payload`, `headers` and `query` (`payload`). Then the body may be JSON, a form or text.",
    label: "Input",
    option: "input",
    value: "variables|payload",
    help: "What the template can use: the `variables` in the body, or the whole request, for services with their own format",
    default: "variables"
  },
  template_language: {
    kind: "choice",
    group: "template",
    words: ["simple", "liquid"],
    description:
      "`simple` (the default): `{{name}}` inserts a value. `liquid`: Liquid, with filters, conditions and loops.",
    label: "Template language",
    option: "template-language",
    value: "simple|liquid",
    help: "`simple` has only `{{name}}`; `liquid` adds filters, conditions and loops",
    default: "simple"
  },
  thread_key: {
    kind: "template",
    group: "template",
    maxLength: 1_000,
    description:
      "A template over the same values as the prompt, such as `{{repo}}#{{number}}`. Runs of a team with the same key are one conversation: their agent continues its session. A run for which a value is missing, or whose key is blank, stands alone. Default: each run stands alone.",
    label: "Conversation key",
    option: "thread-key",
    value: "template",
    help: "Runs with the same key continue one conversation of the agent, such as {{repo}}#{{number}}",
    default: "each run stands alone"
  },
  run_title: {
    kind: "template",
    group: "template",
    maxLength: 500,
    description:
      "A template over the same values as the prompt, such as `{{repo}}#{{number}}: {{title}}`. It names each run in lists, pages, messages and the command line: one line of at most 120 characters. A run for which a value is missing has no title. Default: no title; lists show the first line of the prompt.",
    label: "Run title",
    option: "run-title",
    value: "template",
    help: "Names each run in lists and messages, such as {{repo}}#{{number}}: {{title}}",
    default: "the first line of the prompt"
  },
  timeout_seconds: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "The maximum duration of a run in seconds. Default: the server's `WEBHOOK_TIMEOUT`.",
    label: "Timeout",
    option: "timeout",
    value: "seconds",
    help: "The maximum duration of a run",
    default: "the server's WEBHOOK_TIMEOUT",
    serverDefault: "webhook_timeout_seconds"
  },
  max_work_seconds: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 604_800,
    unit: "seconds",
    description:
      "The maximum duration of the agent's work in seconds when its caller has stopped waiting, at the timeout of a synchronous request: until then its late answer is kept, then it is told to stop. At least the timeout. Asynchronous runs are stopped at their timeout. Default: the server's `WEBHOOK_MAX_WORK`.",
    label: "Maximum work",
    option: "max-work",
    value: "seconds",
    help: "How long the agent may work on a synchronous request in all, also after the caller has stopped waiting",
    default: "the server's WEBHOOK_MAX_WORK",
    serverDefault: "webhook_max_work_seconds"
  },
  max_concurrent: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 10_000,
    description: "The maximum number of runs in progress. Default: the server's `WEBHOOK_MAX_CONCURRENT`.",
    label: "Concurrency limit",
    option: "max-concurrent",
    value: "count",
    help: "The maximum number of runs in progress; further runs are queued",
    default: "the server's WEBHOOK_MAX_CONCURRENT",
    serverDefault: "webhook_max_concurrent"
  },
  max_queued: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 10_000_000,
    description:
      "The maximum number of queued runs; further requests are rejected with 429. Default: a tenth of `WEBHOOK_MAX_QUEUED`, the server's limit for all webhooks.",
    label: "Queue limit",
    option: "max-queued",
    value: "count",
    help: "The maximum number of queued runs; further requests are rejected",
    default: "a tenth of the server's WEBHOOK_MAX_QUEUED",
    serverDefault: "webhook_max_queued"
  },
  rate: {
    kind: "text",
    group: "limits",
    pattern: ratePattern,
    accepts: rateAccepts,
    description:
      "The maximum number of requests per period, such as `60/min` (`sec`, `min`, `hour` or `day`); further requests are rejected with 429. A burst may use the whole number at once; then it refills evenly. Default: no limit.",
    label: "Rate limit",
    option: "rate",
    value: "count/time",
    help: "The maximum number of requests per period, such as 60/min; further requests are rejected",
    default: "no limit"
  },
  max_runs_per_day: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 10_000_000,
    description:
      "The maximum number of runs that requests start per day (UTC); further requests are rejected with 429 until midnight. Replays and retries do not count. Default: no limit.",
    label: "Runs per day",
    option: "max-runs-per-day",
    value: "count",
    help: "The maximum number of runs per day (UTC); further requests are rejected until midnight",
    default: "no limit"
  },
  pause_after_failures: {
    kind: "whole number",
    group: "limits",
    min: 1,
    max: 100,
    description:
      "Pauses the webhook after this many runs in a row have failed or timed out. Further requests are rejected with 409 until a person resumes it or a run succeeds. Cancelled runs do not count. Counting starts when this is set, and when the webhook is enabled or resumed. Default: never.",
    label: "Pause after failures",
    option: "pause-after-failures",
    value: "count",
    help: "Pauses the webhook after this many failed runs in a row; further requests are rejected until it is resumed",
    default: "never"
  },
  max_cost_per_day: {
    kind: "amount",
    group: "limits",
    max: 1_000_000,
    description:
      "What the webhook's runs may cost per day (UTC) in US dollars, as their agents report it; further requests are rejected with 429 until midnight. A run whose cost is unknown or not known yet counts as the server's `WEBHOOK_UNKNOWN_COST`. Default: no limit.",
    label: "Cost per day",
    option: "max-cost-per-day",
    value: "dollars",
    help: "What the runs may cost per day (UTC) in US dollars, such as 5 or 2.50; further requests are rejected until midnight",
    default: "no limit"
  },
  agent_model: {
    kind: "text",
    group: "agent",
    pattern: "^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$",
    accepts: "must be a letter or digit, followed by up to 199 letters, digits, `.`, `_`, `:`, `/`, `@` or `-`",
    description:
      "The agent's model, by the name that its program uses. The team's leader must allow it (`--models`); otherwise runs end as `error`. Default: the agent's own.",
    label: "Model",
    option: "agent-model",
    value: "name",
    help: "The agent's model; the team's leader must allow it",
    default: "the agent's own"
  },
  agent_permissions: {
    kind: "text",
    group: "agent",
    pattern: "^[a-z0-9][a-z0-9-]{0,62}$",
    accepts: "must be up to 63 lowercase letters, digits and `-`, and begin with a letter or digit",
    description:
      "What the agent may do: the name of a permission profile, such as `read-only`. The operator of the team's leader defines the profiles (`--permissions`). If the leader does not know the name, runs end as `error`. Default: what the leader allows.",
    label: "Permissions",
    option: "agent-permissions",
    value: "profile",
    help: "What the agent may do: a permission profile of the team's leader, such as read-only",
    default: "what the leader allows"
  },
  agent_asks: {
    kind: "choice",
    group: "agent",
    words: ["allow", "refuse"],
    description:
      "Whether the agent may end its run with a question (`allow`, the default) or must decide for itself (`refuse`), for instance because nobody is there to reply.",
    label: "Questions",
    option: "agent-asks",
    value: "allow|refuse",
    help: "Whether the agent may end its run with a question or must decide for itself",
    default: "allow"
  },
  workspace_ref: {
    kind: "template",
    group: "agent",
    maxLength: 500,
    description:
      "The branch, tag, full ref or commit to work on, for an agent with a repository (`--workspace`): a template over the same values as the prompt, such as `{{payload.pull_request.head.sha}}`. Without it, or if one of its values is missing, a conversation continues where it is, and other runs start at the repository's HEAD.",
    label: "Branch, tag or commit",
    option: "workspace-ref",
    value: "template",
    help: "The branch, tag or commit to work on, for an agent with a repository, such as {{payload.pull_request.head.sha}}",
    default: "the repository's HEAD"
  },
  max_turns: {
    kind: "whole number",
    group: "agent",
    min: 1,
    max: 10_000,
    description:
      "The maximum number of turns (responses of the model) in a run. Then the agent is stopped, and the run ends as `error` with the code `turns_exceeded` and the answer so far. Default: no limit.",
    label: "Turns per run",
    option: "max-turns",
    value: "count",
    help: "The maximum number of turns (responses of the model) in a run; then the agent is stopped",
    default: "no limit"
  },
  max_cost: {
    kind: "amount",
    group: "agent",
    max: 1_000_000,
    description:
      "What a run may cost in US dollars, as reported by its agent while it works. Then the agent is stopped, and the run ends as `error` with the code `cost_exceeded` and the answer so far. The step in progress may exceed the limit. Default: no limit.",
    label: "Cost per run",
    option: "max-cost",
    value: "dollars",
    help: "What a run may cost in US dollars, such as 0.50; then its agent is stopped",
    default: "no limit"
  },
  thread_history: {
    kind: "switch",
    group: "agent",
    description:
      "Whether prompts of a conversation carry its earlier prompts and answers (the last ten, up to 64 Ki characters). An agent that no longer has the session uses them. Useful for agents that lose their sessions, in containers or on several machines. Default: only if the agent reports no sessions.",
    label: "Send earlier messages",
    option: "thread-history",
    value: "true|false",
    help: "Prompts of a conversation carry its earlier messages, for agents that lose their sessions",
    default: "if the agent has no sessions"
  },
  answer_schema: {
    kind: "json",
    group: "agent",
    maxLength: 16_384,
    description:
      "A JSON Schema (draft 2020-12) for the agent's answer, under the same rules as `schema`. The agent is told to answer with matching JSON, and asked once more if it does not. The run then has the value as `answer`, beside the text in `response`. If the answer still does not match, the run ends as `error` with the code `answer_invalid`. Questions of the agent are not checked. Default: answers are text.",
    label: "Answer schema",
    option: "answer-schema",
    value: "json",
    help: "A JSON Schema (2020-12) for the agent's answer; the run then also has its value",
    default: "answers are text"
  },
  when_team_stopped: {
    kind: "choice",
    group: "failures",
    words: ["refuse", "queue", "ignore"],
    description:
      'What happens to requests when no leader is connected, the webhook is paused, or its budget is used: they are rejected with 409 or 429 (`refuse`, the default); queued until a leader connects or the webhook is resumed (`queue`), while those over the budget are rejected; or answered with 200 `{"status":"ignored"}` (`ignore`), for services that disable webhooks after rejections. Synchronous requests are always rejected.',
    label: "When no leader is connected",
    option: "when-team-stopped",
    value: "refuse|queue|ignore",
    help: "What happens to requests when no leader is connected, or the webhook is paused or over its budget: `refuse` rejects them, `queue` keeps them (not those over the budget), `ignore` answers 200 and starts no run",
    default: "refuse"
  },
  queue_for_seconds: {
    kind: "whole number",
    group: "failures",
    min: 1,
    max: 2_592_000,
    unit: "seconds",
    description:
      "With `when_team_stopped: queue`, the maximum wait for a leader in seconds. After that, the run ends as `error` with the code `team_not_running`. Default: 24 hours.",
    label: "Maximum wait for a leader",
    option: "queue-for",
    value: "seconds",
    help: "How long a queued request waits for a leader",
    default: "24 hours"
  },
  retries: {
    kind: "retries",
    group: "failures",
    mostRetries: 10,
    mostSeconds: 86_400,
    description:
      "Retries of a run that ends as `error`, each as a new run: up to `max_retries` (1 to 10), `backoff_seconds` (1 to 86400) after the first failure. The delay doubles after each further failure, up to a day. Timeouts, synchronous requests and runs without a leader are not retried. Default: no retries.",
    label: "Retries",
    option: "retries",
    value: "retries/seconds",
    help: "The maximum number of retries of a failed run, and the first delay, which doubles each time",
    written: "such as 3/60 for 60 seconds",
    default: "none"
  },
  shares: {
    kind: "webhook",
    group: "callers",
    description:
      "The ID of the webhook whose URL it shares, for services with one URL. It has no token then: each request that the other webhook has verified is offered to it, and it filters and renders that for itself. `input` must be the same; `verification` and `allow_from` are those of the other one. Default: its own URL.",
    label: "Shared URL",
    option: "shares",
    value: "webhook",
    help: "The webhook whose URL it shares, by name or ID, for services with one URL; it then has no token of its own",
    default: "its own URL"
  },
  allow_from: {
    kind: "networks",
    group: "callers",
    most: 100,
    description:
      "The addresses and networks (CIDR) that may call the webhook; others get 401. Behind proxies, set the server's `TRUSTED_PROXIES`. Default: anywhere.",
    label: "Allowed callers",
    option: "allow-from",
    value: "networks",
    help: "The addresses and networks that may call the webhook, such as 192.0.2.7,10.0.0.0/8",
    default: "anywhere"
  },
  accept_if: {
    kind: "expression",
    group: "requests",
    language: "JMESPath",
    maxLength: 4_096,
    description:
      'A JMESPath expression on the variables or, with `input: payload`, on `payload`, `headers` and `query`. If the result is false, null or empty, the response is 200 `{"status":"ignored"}` and no run starts. Default: all requests are accepted.',
    label: "Filter",
    option: "accept-if",
    value: "expression",
    help: "A JMESPath expression on the input, such as branch == 'main'; other requests are ignored",
    default: "all requests"
  },
  schedule: {
    kind: "text",
    group: "requests",
    pattern: schedulePattern,
    accepts: scheduleAccepts,
    description:
      "When the webhook triggers itself: a cron expression (minute, hour, day, month, weekday) and a time zone, by default UTC, such as `0 9 * * mon-fri Europe/Berlin`. The request has one value, the `scheduled_at` of the schedule (RFC 3339). Each time starts one run, on any number of servers. Times that pass while no server runs start one run together; those that pass while the webhook is disabled start none. What is refused for a moment is tried again until it starts. Default: none.",
    label: "Schedule",
    option: "schedule",
    value: "cron",
    help: "When the webhook triggers itself: a cron expression, and a time zone in place of UTC, such as 0 9 * * mon-fri Europe/Berlin",
    default: "none"
  },
  own_messages: {
    kind: "choice",
    group: "requests",
    words: ["ignore", "accept"],
    description:
      'What happens when a service reports a comment or message that a destination of this server wrote: no run starts, and the response is 200 `{"status":"ignored"}` with the `reason` (`ignore`, the default); or it is a request like any other (`accept`). Then agents may answer themselves endlessly.',
    label: "Own messages",
    option: "own-messages",
    value: "ignore|accept",
    help: "What happens to requests about comments and messages that a destination of this server wrote",
    default: "ignore"
  },
  approval: {
    kind: "choice",
    group: "approval",
    words: ["none", "required"],
    description:
      "Whether a person must approve each run before its prompt is sent: no (`none`, the default), or yes (`required`). Until then, the run holds neither a slot nor its team; after 7 days without a decision it is cancelled. Callers cannot wait for the answer. This applies to all requests, tool calls, chains and replies. What operators who may approve start, replay or reply themselves needs no approval, nor do retries.",
    label: "Approval",
    option: "approval",
    value: "none|required",
    help: "Whether a person must approve each run before its prompt is sent",
    default: "none"
  },
  approvers: {
    kind: "list",
    group: "approval",
    most: 50,
    pattern: approverPattern,
    accepts:
      "must be 1 to 50 of `role:NAME`, `key:NAME`, `person:ID`, `slack:TEAM/USER`, `slack` and `self`, such as role:admin,slack:T0123/U0456",
    description:
      "Who may approve and deny the webhook's runs. `role:operator`: this role or a higher one. `key:release`: the API key with this name. `person:…`: a person of the OpenID provider, by ID. `slack:T0123/U0456`: a member of a Slack workspace, by the IDs of both. `slack`: all members of the Slack app's own workspace. Keys and persons also need the role `operator`. Nobody decides about a run that they asked for, unless the list has `self`. Default: `role:operator` and `slack`.",
    label: "Approvers",
    option: "approvers",
    value: "list",
    help: "Who may approve runs, separated by commas: role:NAME, key:NAME, person:ID, slack:TEAM/USER, slack, and self for those who asked",
    default: "operators, and members of the Slack app's workspace"
  },
  coalesce: {
    kind: "window",
    group: "bursts",
    longest: 3_600,
    description:
      "Combines requests with the same value of `key` (a variable as in the template) into one run if they arrive within `within` seconds of the first; with `quiet`, only while each arrives within so many seconds of the one before. The run then joins the team's lane with the values of the last request. Its prompt can say how many there were (`{{combined.count}}`) and, with `collect: all`, use the values of all (`{{combined.requests}}`). All callers get the run's id; none can wait for the answer. Default: each request starts a run.",
    label: "Combine bursts",
    option: "coalesce",
    value: "key seconds",
    help: "Combines requests with the same value of a variable into one run: those within some time of the first, or until none comes for a shorter time",
    written:
      "such as `branch 30` for 30 seconds; with `quiet=10`, until none comes for 10 seconds; with `collect=all`, the prompt can list them all",
    default: "off"
  },
  singleton: {
    kind: "singleton",
    group: "bursts",
    maxLength: 1_000,
    description:
      "One run at a time for each `key`, a template over the same values as `thread_key`, such as `{{payload.pull_request.id}}`. `on_new` says what happens to a request while a run with its key is queued, collects requests, waits for its approval, is in progress or waits for a retry. `queue`: it starts a run as usual, and the key is only for `cancel_if`. `skip`: it is ignored, and the response has the `run_id` of that run. `supersede`: its run replaces older ones with the key, which are cancelled (`supersede_when`). A request for which a value is missing, or whose key is blank, stands alone. So do test requests, tools, replies and replays. Default: off.",
    label: "One run at a time",
    option: "singleton",
    value: "template word",
    help: "One run at a time for each key, a template; a new request waits (`queue`), is ignored (`skip`), or replaces the older ones (`supersede`)",
    written: "such as {{payload.pull_request.id}} supersede",
    default: "off"
  },
  supersede_when: {
    kind: "choice",
    group: "bursts",
    words: ["accepted", "started"],
    description:
      "With `singleton` and `on_new: supersede`, when a newer run replaces the one in progress: as soon as it is accepted, and approved if it needs approval (`accepted`, the default), or only when it starts itself (`started`). As a team works on one run at a time, the run in progress may then finish; if it fails, it is not retried. Runs that wait are replaced as soon as the newer one is accepted, in either case.",
    label: "Replace the run in progress",
    option: "supersede-when",
    value: "accepted|started",
    help: "With singleton supersede, when a newer run replaces the one in progress: as soon as it is `accepted`, or when it is `started` itself, so that work in progress may finish",
    default: "accepted"
  },
  cancel_if: {
    kind: "expression",
    group: "bursts",
    language: "JMESPath",
    maxLength: 4_096,
    description:
      'A JMESPath expression on the same input as `accept_if`, such as `payload.action == \'closed\'`, which is evaluated first. If it holds, no run starts: the runs with the request\'s key (`singleton`) that were accepted before are cancelled, and the response is 200 `{"status":"cancelled","run_ids"}`. Test requests and tools cancel nothing. Default: no request cancels runs.',
    label: "Cancel filter",
    option: "cancel-if",
    value: "expression",
    help: "A JMESPath expression on the input, such as payload.action == 'closed'; these requests start no run and cancel those with their key (singleton)",
    default: "no request cancels runs"
  },
  attachments: {
    kind: "json",
    group: "requests",
    maxLength: 16_384,
    description:
      "Gives the agent files that requests name by URL: `{urls?, links_in?, hosts, redirects?, token_of?}`. `urls` is a JMESPath expression on the same input as `accept_if` for a URL, `{url, name?, type?}`, or a list of them; `links_in` is one for a text, or a list of texts, whose links are files. The server fetches them by https when the agent's leader asks for them, only from `hosts`, such as `files.slack.com`, `*.example.com` or `github.com/user-attachments/`, and from `redirects` if those redirect there. `token_of`: files of its own service are fetched with the token of the webhook's destination of this kind (`github` or `slack-message`). A run has at most 10 files of 5 MB, with those sent. It goes on without those that cannot be fetched. Cannot be combined with `coalesce`. Default: none.",
    label: "Attachments",
    option: "attachments",
    value: "json",
    help: 'Gives the agent files that requests name by URL, such as {"urls": "payload.file_url", "hosts": ["files.example.com"]}',
    default: "none"
  },
  schema: {
    kind: "json",
    group: "requests",
    maxLength: 65_536,
    description:
      "A JSON Schema (draft 2020-12) for the variables. Requests that don't match are rejected with 422 and a pointer to each error. `$ref` must stay within the schema (`#…`); `$dynamicRef` is not supported. Default: no check.",
    label: "JSON Schema",
    option: "schema",
    value: "json",
    help: "A JSON Schema (2020-12) for the variables; requests that don't match are rejected",
    default: "none"
  },
  fence: {
    kind: "switch",
    group: "template",
    description:
      "Encloses each inserted value, or each block of them (`{{#data}}` … `{{/data}}`), in random marks, which no value can contain, and tells the agent not to follow instructions between them. Helps against prompt injection, but is no guarantee. Default: off.",
    label: "Protect against prompt injection",
    option: "fence",
    value: "true|false",
    help: "Marks inserted values in the prompt as data, not instructions; this helps, but is no guarantee",
    default: "off"
  },
  store_requests: {
    kind: "choice",
    group: "requests",
    words: ["none", "refused", "all"],
    description:
      "Which requests to store for 24 hours, with headers and the first 64 KB of the body: none (`none`, the default), the latest 100 rejected ones (`refused`), or also the latest 20 others (`all`). They help to write and test a template.",
    label: "Store requests",
    option: "store-requests",
    value: "none|refused|all",
    help: "Which requests to store for 24 hours, with headers and body, to write and test a template with",
    default: "none"
  },
  mcp_tool: {
    kind: "text",
    group: "tool",
    pattern: "^[A-Za-z][A-Za-z0-9_-]{0,56}$",
    accepts: "must be a letter, followed by up to 56 letters, digits, `_` or `-`",
    description:
      "Offers the webhook to AI assistants, as a tool with this name at `/mcp` (Model Context Protocol). Default: no tool.",
    label: "MCP tool",
    option: "mcp-tool",
    value: "name",
    help: "Offers the webhook to AI assistants as an MCP tool with this name, such as review_pull_request",
    default: "no tool"
  },
  mcp_description: {
    kind: "text",
    group: "tool",
    pattern: "^[\\s\\S]{1,2000}$",
    accepts: "must have 1 to 2000 characters",
    description: "What the MCP tool does and when to use it, for the assistant. Default: the webhook's name.",
    label: "MCP tool description",
    option: "mcp-description",
    value: "text",
    help: "What the MCP tool does and when to use it, for the assistant",
    default: "the webhook's name"
  }
} as const satisfies { readonly [name: string]: WebhookSetting }

export type WebhookSettingName = keyof typeof webhookSettings

/** The values of a webhook's settings, by name. */
export type SettingValues = {
  readonly [Name in WebhookSettingName]: SettingValue<(typeof webhookSettings)[Name]>
}

export const webhookSettingNames = Object.keys(webhookSettings) as ReadonlyArray<WebhookSettingName>
