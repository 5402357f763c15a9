import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const project = {
  id: 1,
  name: "Shop",
  description: "The shop's backend.",
  web_url: "https://gitlab.example.com/acme/shop",
  avatar_url: null,
  git_ssh_url: "git@gitlab.example.com:acme/shop.git",
  git_http_url: "https://gitlab.example.com/acme/shop.git",
  namespace: "Acme",
  visibility_level: 20,
  path_with_namespace: "acme/shop",
  default_branch: "main",
  ci_config_path: "",
  homepage: "https://gitlab.example.com/acme/shop",
  url: "https://gitlab.example.com/acme/shop.git",
  ssh_url: "git@gitlab.example.com:acme/shop.git",
  http_url: "https://gitlab.example.com/acme/shop.git"
}

const person = {
  id: 6,
  name: "Rosa Diaz",
  username: "rosa",
  avatar_url: "https://gitlab.example.com/uploads/-/system/user/avatar/6/avatar.png",
  email: "[REDACTED]"
}

const label = {
  id: 206,
  title: "API",
  color: "#ffffff",
  project_id: 1,
  created_at: "2026-03-03T17:54:39Z",
  updated_at: "2026-03-03T17:54:39Z",
  template: false,
  description: "What callers see",
  type: "ProjectLabel",
  group_id: null
}

export const gitlab: Recipe = {
  label: "GitLab",
  name: "Review merge requests",
  summary: "Reviews merge requests when they are opened or updated.",
  starts: [
    "Merge requests: opened, reopened, ready for review, new commits",
    "No drafts",
    "Pushes within 30 seconds are combined, and later ones replace the review of older ones",
    "Closing or merging a merge request, or making it a draft, cancels its review"
  ],
  destination: {
    kind: "gitlab",
    target: "{{ values.payload.project.path_with_namespace }}!{{ values.payload.object_attributes.iid }}"
  },
  verification: { preset: "gitlab" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    accept_if:
      "payload.object_kind == 'merge_request' && payload.object_attributes.draft != `true` && (contains(['open', 'reopen'], payload.object_attributes.action) || payload.object_attributes.action == 'update' && (payload.object_attributes.oldrev || payload.changes.draft.current == `false`))",
    singleton: { key: "{{payload.object_attributes.id}}", on_new: "supersede" },
    cancel_if:
      "payload.object_kind == 'merge_request' && (contains(['close', 'merge'], payload.object_attributes.action) || payload.changes.draft.current == `true`)",
    coalesce: { key: "payload.object_attributes.id", within: 30 },
    run_title:
      "{{payload.project.path_with_namespace}}!{{payload.object_attributes.iid}}: {{payload.object_attributes.title}}",
    workspace_ref: "{{payload.object_attributes.last_commit.id}}"
  },
  prompt_template: `A merge request is ready for review:

{{#data}}
{{payload.project.path_with_namespace}}!{{payload.object_attributes.iid}}: {{payload.object_attributes.title}}
{{payload.object_attributes.url}}
Event: {{payload.object_attributes.action}}, by {{payload.user.name}} (@{{payload.user.username?}})
From: {{payload.object_attributes.source.path_with_namespace?}} {{payload.object_attributes.source_branch}}, commit {{payload.object_attributes.last_commit.id?}}
Into: {{payload.object_attributes.target.path_with_namespace?}} {{payload.object_attributes.target_branch}}
Last commit: {{payload.object_attributes.last_commit.title?}}

{{payload.object_attributes.description?}}
{{/data}}

Review the changes, and list what must change before it is merged. Do not run code from a fork.`,
  steps: [
    "In the project or group: “Settings”, “Webhooks”, “Add new webhook”. “URL”: the trigger URL.",
    "“Secret token”: the secret. If your GitLab offers a “Signing token” (`whsec_…`), generate that and set it as the webhook's secret here: then requests are signed.",
    "“Trigger”: only “Merge request events”. Save.",
    "“Test”, “Merge request events” sends an example."
  ],
  notes: [
    "For reviews as comments, switch on “Send each answer back” when you create the webhook, or add a destination later: kind `gitlab`, target `{{ values.payload.project.path_with_namespace }}!{{ values.payload.object_attributes.iid }}` (docs/use/destinations.md). The agent then needs no token.",
    "GitLab disables a webhook for a while after four failures in a row. Queued runs are no failures.",
    "GitLab sends up to 25 MB. Events over `WEBHOOK_MAX_BODY` (1 MiB) get 413: to get pushes of many commits, set it to `25 MiB`.",
    "Updates of a merge request within 30 seconds are one run, for the latest.",
    "Updates without new commits start no run, such as a new label, except for a draft that becomes ready."
  ],
  sample: {
    headers: {
      ...json,
      "user-agent": "GitLab/18.4.0",
      "x-gitlab-event": "Merge Request Hook",
      "x-gitlab-webhook-uuid": "13792a34-cac6-4fda-95a8-c58e00a3954e",
      "x-gitlab-instance": "https://gitlab.example.com",
      "x-gitlab-event-uuid": "9b8f1a3e-4f8d-4b6a-9a35-0f6a0c0f2d11",
      "idempotency-key": "f5e57fcb-1e2b-4ca4-9f21-d8b8e1a5b3c7"
    },
    payload: {
      object_kind: "merge_request",
      event_type: "merge_request",
      user: person,
      project,
      repository: {
        name: "Shop",
        url: "git@gitlab.example.com:acme/shop.git",
        description: "The shop's backend.",
        homepage: "https://gitlab.example.com/acme/shop"
      },
      object_attributes: {
        id: 99,
        iid: 16,
        target_branch: "main",
        source_branch: "half-cents",
        source_project_id: 7,
        author_id: 6,
        assignee_ids: [6],
        assignee_id: 6,
        reviewer_ids: [7],
        title: "Round half a cent to even",
        created_at: "2026-05-04 08:15:12 UTC",
        updated_at: "2026-05-04 08:15:12 UTC",
        last_edited_at: "2026-05-04 08:15:12 UTC",
        last_edited_by_id: 6,
        milestone_id: null,
        state_id: 1,
        state: "opened",
        blocking_discussions_resolved: true,
        work_in_progress: false,
        draft: false,
        first_contribution: false,
        merge_status: "unchecked",
        detailed_merge_status: "mergeable",
        merge_when_pipeline_succeeds: false,
        target_project_id: 1,
        description: "As banks do.",
        prepared_at: "2026-05-04 08:15:20 UTC",
        total_time_spent: 1800,
        time_change: 30,
        human_total_time_spent: "30m",
        human_time_change: "30s",
        human_time_estimate: "30m",
        url: "https://gitlab.example.com/acme/shop/-/merge_requests/16",
        source: { ...project, id: 7, namespace: "Rosa Diaz", path_with_namespace: "rosa/shop" },
        target: project,
        last_commit: {
          id: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
          message: "Round half a cent to even\n",
          title: "Round half a cent to even",
          timestamp: "2026-05-04T10:12:03+02:00",
          url: "https://gitlab.example.com/acme/shop/-/commit/da1560886d4f094c3e6c9ef40349f7d38b5d27d7",
          author: { name: "Rosa Diaz", email: "rosa@example.com" }
        },
        labels: [label],
        action: "open"
      },
      labels: [label],
      changes: {
        updated_by_id: { previous: null, current: 6 },
        draft: { previous: true, current: false },
        labels: { previous: [], current: [label] }
      },
      assignees: [person],
      reviewers: [{ ...person, id: 7, name: "Ken Ito", username: "ken", state: "unreviewed", re_requested: false }]
    }
  },
  documentation: "https://docs.gitlab.com/user/project/integrations/webhook_events/#merge-request-events"
}
