import { fromStrangers, json, type Recipe } from "./Recipe.ts"

const repository = {
  id: 1296269,
  name: "hello-world",
  full_name: "octo-org/hello-world",
  private: false,
  html_url: "https://github.com/octo-org/hello-world",
  default_branch: "main"
}

export const github: Recipe = {
  label: "GitHub",
  name: "Review pull requests",
  summary: "Reviews pull requests when they are opened or get new commits.",
  verification: { preset: "github" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    accept_if:
      "headers.\"x-github-event\" == 'pull_request' && contains(['opened', 'reopened', 'ready_for_review', 'synchronize'], payload.action) && payload.pull_request.draft != `true`",
    coalesce: { key: "payload.pull_request.id", within: 30 }
  },
  prompt_template: `A pull request of {{payload.repository.full_name}}, {{payload.action}} by {{payload.sender.login}}:

#{{payload.pull_request.number}} {{payload.pull_request.title}}
{{payload.pull_request.html_url}}
From {{payload.pull_request.head.ref}} into {{payload.pull_request.base.ref}}.

{{payload.pull_request.body?}}

Review the changes, and list what must change before it is merged.`,
  steps: [
    "In the repository or organization: “Settings”, “Webhooks”, “Add webhook”.",
    "“Payload URL”: the trigger URL. “Content type”: “application/json”. “Secret”: the secret.",
    "“Let me select individual events”: only “Pull requests”. Save.",
    "GitHub sends a ping, which gets 200 and starts no run."
  ],
  notes: [
    "GitHub does not retry rejected deliveries. “Recent Deliveries” has a button to resend them.",
    "Pushes to a pull request within 30 seconds are one run, for the latest.",
    "`workflow_dispatch` and `repository_dispatch` need `unique_for_seconds`. Their bodies contain no time or ID, so the same inputs would start no second run for 7 days (docs/verification.md, “Events with identical bodies”)."
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
        head: { ref: "gone-team", sha: "ec26c3e57ca3a959ca5aad62de7213c562f8c821" },
        base: { ref: "main", sha: "f95f852bd8fca8fcc58a9a2d6c842781e32a215e" },
        labels: [{ id: 208045946, name: "bug", color: "f29513" }],
        created_at: "2026-05-04T08:15:12Z"
      },
      repository,
      sender: { login: "octocat", id: 583231, type: "User" }
    }
  },
  documentation: "https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request"
}
