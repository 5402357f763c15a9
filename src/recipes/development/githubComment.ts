import { json, type Recipe, wholeRequest } from "../Recipe.ts"

export const githubComment: Recipe = {
  label: "GitHub comments",
  name: "Answer comments",
  summary: "Answers comments on issues and pull requests that mention @agent.",
  starts: [
    "New comments that mention @agent",
    "Only from owners, members and collaborators",
    "All for an issue or pull request are one conversation, with its reviews"
  ],
  destination: {
    kind: "github",
    target:
      "{{ values.payload.repository.full_name }}#{{ values.payload.issue.number }}/{{ values.payload.comment.id }}"
  },
  verification: { preset: "github" },
  secret: "made here",
  settings: {
    ...wholeRequest,
    accept_if:
      "headers.\"x-github-event\" == 'issue_comment' && payload.action == 'created' && payload.comment.user.type == 'User' && contains(['OWNER', 'MEMBER', 'COLLABORATOR'], payload.comment.author_association) && contains(payload.comment.body, '@agent')",
    thread_key: "{{payload.repository.full_name}}#{{payload.issue.number}}",
    run_title: "{{payload.repository.full_name}}#{{payload.issue.number}}: {{payload.comment.body}}",
    attachments: {
      links_in: "payload.comment.body",
      hosts: ["github.com/user-attachments/"],
      redirects: [
        "*.githubusercontent.com",
        "github-production-user-asset-6210df.s3.amazonaws.com",
        "github-production-repository-file-5c1aeb.s3.amazonaws.com"
      ],
      token_of: "github"
    }
  },
  prompt_template: `{{payload.comment.user.login}} comments on {{payload.repository.full_name}}#{{payload.issue.number}} (comment {{payload.comment.id}}, {{payload.comment.html_url}}):

{{payload.comment.body}}

Your answer is posted as a comment.`,
  steps: [
    "In the repository or organization: “Settings”, “Webhooks”, “Add webhook”.",
    "“Payload URL”: the trigger URL. “Content type”: “application/json”. “Secret”: the secret.",
    "“Let me select individual events”: only “Issue comments”. Save.",
    "GitHub sends a ping, which gets 200 and starts no run."
  ],
  notes: [
    "Comments continue the reviews of the recipe `github`, if both webhooks have the same team: their `thread_key` is the same.",
    "Another name than @agent: edit `accept_if`. The name needs no GitHub account.",
    "Each answer is a comment of its own, because GitHub notifies nobody of edited ones. “Send each answer back” sets that up.",
    "The agent gets the files that are attached to the comment, those of a private repository only with a classic token.",
    "The comment is not marked as data: who may write it instructs the agent. For comments of strangers, set `fence`.",
    "To take comments and pull requests by one URL, let one of the webhooks share the other's: see `shares` in docs/use/webhooks.md, “Share a URL”."
  ],
  sample: {
    headers: {
      ...json,
      "user-agent": "GitHub-Hookshot/044aadd",
      "x-github-event": "issue_comment",
      "x-github-delivery": "0b989ba4-242f-11e5-81e1-c7b6966d2516",
      "x-github-hook-id": "292430182",
      "x-github-hook-installation-target-id": "1296269",
      "x-github-hook-installation-target-type": "repository"
    },
    payload: {
      action: "created",
      issue: {
        id: 73464126,
        number: 42,
        title: "Answer with 404 for a team that is gone",
        state: "open",
        html_url: "https://github.com/octo-org/hello-world/pull/42",
        user: { login: "octocat", id: 583231, type: "User" },
        pull_request: { html_url: "https://github.com/octo-org/hello-world/pull/42" }
      },
      comment: {
        id: 99262140,
        html_url: "https://github.com/octo-org/hello-world/pull/42#issuecomment-99262140",
        body: "@agent why is 404 right here?",
        user: { login: "monalisa", id: 583232, type: "User" },
        author_association: "MEMBER",
        created_at: "2026-05-04T08:21:40Z",
        updated_at: "2026-05-04T08:21:40Z"
      },
      repository: {
        id: 1296269,
        name: "hello-world",
        full_name: "octo-org/hello-world",
        private: false,
        html_url: "https://github.com/octo-org/hello-world",
        default_branch: "main"
      },
      sender: { login: "monalisa", id: 583232, type: "User" }
    }
  },
  documentation: "https://docs.github.com/en/webhooks/webhook-events-and-payloads#issue_comment"
}
