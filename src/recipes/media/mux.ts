import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const id = "0201p02fGKPE7MrbC269XRD7LpcHhrmbu0002"

export const mux: Recipe = {
  label: "Mux",
  name: "Failed Mux videos",
  summary: "Finds out why a video could not be processed.",
  starts: ["Videos: failed uploads and failed processing"],
  verification: { preset: "mux" },
  secret: "shown after",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.type == 'video.asset.errored' || payload.type == 'video.upload.errored'",
    run_title: "{{ payload.type }}: {{ payload.data.passthrough | default: payload.object.id }}"
  },
  prompt_template: `Mux could not process a video:

{% data %}
{{ payload.type }}: {{ payload.object.type }} {{ payload.object.id }}
Environment: {{ payload.environment.name }}
{% if payload.data.errors %}Error: {{ payload.data.errors.type }}
{% for message in payload.data.errors.messages %}{{ message }}
{% endfor %}{% endif %}{% if payload.data.error %}Error: {{ payload.data.error.type }}
{{ payload.data.error.message }}
{% endif %}Our reference (passthrough): {{ payload.data.passthrough | default: "none" }}
Upload: {{ payload.data.upload_id | default: "none" }}
Time: {{ payload.created_at }}
{% enddata %}

Find the cause. Say whether the file, its source or our settings are wrong, who is affected, and what to do next.`,
  steps: [
    "In the Mux dashboard, choose the environment. “Settings”, “Webhooks”, “Create new webhook”.",
    "“URL to notify”: the trigger URL. Create it. “Show signing secret”: that is the secret."
  ],
  notes: [
    "Mux sends all events of the environment. The filter accepts only these errors.",
    "Give uploads a `passthrough`, such as the ID of the video in your system, so that agents can find it.",
    "Mux retries for 24 hours with the same ID, so a retry starts no second run."
  ],
  sample: {
    headers: { ...json, "user-agent": "Mux Webhooks" },
    payload: {
      type: "video.asset.errored",
      id: "3a56ac3d-33da-4366-855b-f592d898409d",
      created_at: "2026-05-04T08:15:12.000000Z",
      object: { type: "asset", id },
      environment: { name: "Production", id: "j0863n" },
      request_id: null,
      accessor: null,
      accessor_source: null,
      attempts: [],
      data: {
        id,
        status: "errored",
        created_at: 1777882490,
        upload_id: "Uf5Yk5hcVFSbzqY4SMC0001",
        passthrough: "course-4711/lesson-3",
        video_quality: "basic",
        max_resolution_tier: "1080p",
        mp4_support: "none",
        master_access: "none",
        errors: {
          type: "invalid_input",
          messages: ["The input file does not contain a duration, and may be corrupt."]
        }
      }
    }
  },
  documentation: "https://docs.mux.com/webhook-reference"
}
