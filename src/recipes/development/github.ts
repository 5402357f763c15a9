import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const repository = {
  id: 1296269,
  name: "hello-world",
  full_name: "octo-org/hello-world",
  private: false,
  fork: false,
  html_url: "https://github.com/octo-org/hello-world",
  default_branch: "main"
}

export const github: Recipe = {
  label: "GitHub",
  name: "Review pull requests",
  summary: "Reviews pull requests when they are opened or get new commits.",
  starts: [
    "Pull requests: opened, reopened, ready for review, new commits",
    "No drafts",
    "Pushes within 30 seconds are combined, and later ones replace the review of older ones",
    "Closing a pull request, or making it a draft, cancels its review"
  ],
  destination: {
    kind: "github",
    target: "{{ values.payload.repository.full_name }}#{{ values.payload.pull_request.number }}"
  },
  verification: { preset: "github" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    accept_if:
      "headers.\"x-github-event\" == 'pull_request' && contains(['opened', 'reopened', 'ready_for_review', 'synchronize'], payload.action) && payload.pull_request.draft != `true`",
    singleton: { key: "{{payload.pull_request.id}}", on_new: "supersede" },
    cancel_if:
      "headers.\"x-github-event\" == 'pull_request' && contains(['closed', 'converted_to_draft'], payload.action)",
    coalesce: { key: "payload.pull_request.id", within: 30 },
    thread_key: "{{payload.repository.full_name}}#{{payload.pull_request.number}}",
    run_title: "{{payload.repository.full_name}}#{{payload.pull_request.number}}: {{payload.pull_request.title}}",
    workspace_ref: "{{payload.pull_request.head.sha}}"
  },
  prompt_template: `A pull request is ready for review:

{{#data}}
{{payload.repository.full_name}}#{{payload.pull_request.number}}: {{payload.pull_request.title}}
{{payload.pull_request.html_url}}
Event: {{payload.action}}, by {{payload.sender.login}}
Author: {{payload.pull_request.user.login?}} ({{payload.pull_request.author_association?}})
From: {{payload.pull_request.head.repo.full_name?}} {{payload.pull_request.head.ref}}, commit {{payload.pull_request.head.sha}}
Into: {{payload.pull_request.base.repo.full_name?}} {{payload.pull_request.base.ref}}, commit {{payload.pull_request.base.sha}}
Commits: {{payload.pull_request.commits?}}. Files: {{payload.pull_request.changed_files?}}. Lines: +{{payload.pull_request.additions?}} -{{payload.pull_request.deletions?}}

{{payload.pull_request.body?}}
{{/data}}

Review the changes, and list what must change before it is merged. Do not run code from a fork.`,
  steps: [
    "In the repository or organization: “Settings”, “Webhooks”, “Add webhook”.",
    "“Payload URL”: the trigger URL. “Content type”: “application/json”. “Secret”: the secret.",
    "“Let me select individual events”: only “Pull requests”. Save.",
    "GitHub sends a ping, which gets 200 and starts no run."
  ],
  notes: [
    "For reviews as comments, switch on “Send each answer back” when you create the webhook, or add a destination later: kind `github`, target `{{ values.payload.repository.full_name }}#{{ values.payload.pull_request.number }}` (docs/use/destinations.md). The agent then needs no token.",
    "GitHub sends up to 25 MB. Events over `WEBHOOK_MAX_BODY` (1 MiB) get 413: to get pushes of many commits, set it to `25 MiB`.",
    "All runs for a pull request are one conversation, which comments can continue: recipe `github-comment`.",
    "A GitHub App has one URL. Other webhooks can share it: see `shares` in docs/use/webhooks.md, “Share a URL”.",
    "GitHub does not retry rejected deliveries. “Recent Deliveries” has a button to resend them.",
    "Pushes to a pull request within 30 seconds are one run, for the latest.",
    "`workflow_dispatch` and `repository_dispatch` need `unique_for_seconds`. Their bodies contain no time or ID, so the same inputs would start no second run for 7 days (docs/use/verification.md, “Events with identical bodies”)."
  ],
  sample: {
    headers: {
      ...json,
      "user-agent": "GitHub-Hookshot/044aadd",
      "x-github-event": "pull_request",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
      "x-github-hook-id": "292430182",
      "x-github-hook-installation-target-id": "1296269",
      "x-github-hook-installation-target-type": "repository"
    },
    payload: {
      action: "opened",
      number: 42,
      pull_request: {
        id: 279147437,
        number: 42,
        state: "open",
        draft: false,
        title: "Answer with 404 for a team that is gone",
        body: "Until now it was a 500.",
        html_url: "https://github.com/octo-org/hello-world/pull/42",
        user: { login: "octocat", id: 583231, type: "User" },
        author_association: "FIRST_TIME_CONTRIBUTOR",
        head: {
          label: "octocat:gone-team",
          ref: "gone-team",
          sha: "ec26c3e57ca3a959ca5aad62de7213c562f8c821",
          repo: { ...repository, id: 1296301, full_name: "octocat/hello-world", fork: true }
        },
        base: {
          label: "octo-org:main",
          ref: "main",
          sha: "f95f852bd8fca8fcc58a9a2d6c842781e32a215e",
          repo: repository
        },
        commits: 2,
        additions: 14,
        deletions: 3,
        changed_files: 2,
        labels: [{ id: 208045946, name: "bug", color: "f29513" }],
        created_at: "2026-05-04T08:15:12Z"
      },
      repository,
      sender: { login: "octocat", id: 583231, type: "User" }
    }
  },
  documentation: "https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request"
}
