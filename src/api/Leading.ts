import { Context, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { LeaderKey } from "../domain/access/LeaderKey.ts"
import { LeaderId, RunId } from "../domain/Id.ts"
import { AgentReport } from "../domain/run/AgentReport.ts"
import { maxActivity, maxProgressText } from "../domain/run/Progress.ts"
import { PromptBody } from "../domain/run/PromptBody.ts"
import { maxFile, mostFiles } from "../domain/run/RunFile.ts"
import { Int } from "../domain/SchemaParts.ts"
import { TeamName } from "../domain/Team.ts"
import { optional } from "../domain/Time.ts"
import { bearer, described, noContent } from "./Endpoint.ts"
import { bodyFaults, Conflict, commonFaults, NotFound, TooManyRequests, Unauthorized } from "./Problem.ts"
import { StepReportSchema } from "./run/Steps.ts"

/** The key of a leader's request. */
export class CallingKey extends Context.Service<CallingKey, LeaderKey>()("webhook-trigger/CallingKey") {}

const leader_key = HttpApiSecurity.annotate(bearer, OpenApi.Description, "A key of a team's leader.")

/** Leaders' requests need `Authorization: Bearer <leader key>`. */
export class LeaderAuth extends HttpApiMiddleware.Service<LeaderAuth, { provides: CallingKey }>()(
  "webhook-trigger/LeaderAuth",
  { error: [Unauthorized, ...commonFaults], security: { leader_key } }
) {}

/** The longest time that a request for a prompt waits, in seconds. */
export const longestWait = 20

export const NextDraft = Schema.Struct({
  leader: LeaderId,
  wait_seconds: optional(
    Int.check(Schema.isBetween({ minimum: 0, maximum: longestWait })).annotate({
      description: `How long to wait for a prompt. Default: ${longestWait}.`
    })
  )
})
export const WorkDraft = Schema.Struct({ leader: LeaderId, run_id: RunId })
export const FileDraft = Schema.Struct({
  correlation_id: Schema.String.annotate({ description: "The prompt's." }),
  id: Schema.String.annotate({ description: "The ID of one of the prompt's `files`." })
})
export const LeaveDraft = Schema.Struct({ leader: LeaderId })

const correlation_id = Schema.String.annotate({
  description: "Opaque. Send it with every reply to the prompt. Anyone who has it can answer, so keep it secret."
})

const LeaderPrompt = Schema.Struct({
  ...PromptBody.fields,
  correlation_id,
  traceparent: optional(Schema.String.annotate({ description: "The W3C trace context." })),
  redelivered: Schema.Boolean.annotate({ description: "Another leader may have begun the work." }),
  cancelled: Schema.Boolean.annotate({ description: "The run was stopped: reply with an `error`." })
}).annotate({ identifier: "LeaderPrompt", description: "The leader's prompt." })

export const replyTypes = ["started", "progress", "file", "response", "error", "rejected", "discarded"] as const
export type ReplyType = (typeof replyTypes)[number]

const Reply = Schema.Struct({
  correlation_id,
  type: Schema.Literals(replyTypes).annotate({
    description:
      "`response` and `error` end the run. `progress` reports what the agent does. `file` is a file that the agent left, and precedes them. `rejected`: the leader can never work on the prompt. `discarded`: the deadline has passed, and nobody works on it. `started` is not needed, since taking a prompt starts its run."
  }),
  response: optional(Schema.String.annotate({ description: "The answer, with `response`." })),
  truncated: optional(
    Schema.Literal(true).annotate({
      description: "With `response`: the answer is larger than 1 MiB, and this is its beginning."
    })
  ),
  message: optional(Schema.String.annotate({ description: "What went wrong, with `error`." })),
  n: optional(
    Int.check(Schema.isBetween({ minimum: 1, maximum: mostFiles })).annotate({
      description: "With `file`: its number, 1, 2, …, from 1 again when the work starts over."
    })
  ),
  name: optional(Schema.String.annotate({ description: "With `file`: its name." })),
  media_type: optional(Schema.String.annotate({ description: "With `file`: its media type." })),
  content: optional(Schema.String.annotate({ description: `With \`file\`: up to ${maxFile / 1e6} MB, in Base64.` })),
  ...AgentReport.fields,
  seq: optional(
    Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
      description: "With `progress`: 0, 1, 2, …, from 0 again when the work starts over."
    })
  ),
  text: optional(
    Schema.String.annotate({
      description: `With \`progress\`: appended to the text so far. Of more than ${maxProgressText} characters, the end counts.`
    })
  ),
  activity: optional(
    Schema.String.annotate({
      description: `With \`progress\`: what the agent does now, in one line of up to ${maxActivity} characters. Default: the title of the last step that begins.`
    })
  ),
  step: optional(StepReportSchema),
  steps: optional(Schema.Array(StepReportSchema).annotate({ description: "Several in one report." }))
}).annotate({
  identifier: "LeaderReply",
  description: "What a leader says about a prompt. More fields are ignored."
})

/** For leaders of teams, with a key of the team. */
export class Leading extends HttpApiGroup.make("leader")
  .add(
    HttpApiEndpoint.get("team", "/leader/team", {
      success: Schema.Struct({ team: TeamName }).annotate({ description: "The team that the key belongs to." })
    }).annotateMerge(described("Show the key's team", "Also shows whether the key is valid."))
  )
  .add(
    HttpApiEndpoint.post("next", "/leader/next", {
      payload: NextDraft,
      success: [LeaderPrompt, noContent("There is no prompt. Ask again.")],
      error: [...bodyFaults, TooManyRequests]
    }).annotateMerge(
      described(
        "Wait for the next prompt",
        "Waits for the team's next prompt. A leader that asks again before it has replied gets the same prompt, so nothing is lost with a response. The leader that asks first leads the team. Others stand by, until it has been silent for 6 seconds or its connection has been closed for 3."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("work", "/leader/work", {
      payload: WorkDraft,
      success: Schema.Struct({
        cancelled: Schema.Boolean.annotate({
          description:
            "The run was stopped: it was cancelled or deleted, or its time is up. Stop, and reply with an `error`."
        })
      }).annotate({ description: "The prompt is still the leader's." }),
      error: [...bodyFaults, Conflict]
    }).annotateMerge(
      described(
        "Show that the leader works",
        "Send this again and again while working on a prompt. The response comes after two seconds, or at once when the run is stopped. On 409, stop the work: another leader has the prompt, or nobody needs it any longer. A reply is not needed then, and harmless."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("reply", "/leader/reply", {
      payload: Reply,
      success: noContent("The reply is stored."),
      error: [...bodyFaults, NotFound]
    }).annotateMerge(
      described(
        "Reply to a prompt",
        "A `response` or `error` is stored before the request succeeds. It may be repeated: the first one counts. Repeat it until it succeeds, also after a 409 from another request. An answer may have 1 MiB; of a longer one, the run keeps the first 64 KiB and ends as `error`, code `answer_too_large`. The body may have 16 MiB."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("file", "/leader/file", {
      payload: FileDraft,
      success: Schema.Struct({
        content: Schema.String.annotate({ description: "In Base64." }),
        missing: optional(
          Schema.String.annotate({
            description: "Why the server cannot get a file that the request named by URL; then `content` is empty."
          })
        )
      }).annotate({
        description: "The file's content."
      }),
      error: [...bodyFaults, NotFound]
    }).annotateMerge(
      described(
        "Get a file of a prompt",
        "The content of a file that came with the request, or that it named by URL: the server fetches it now, for up to 30 seconds, and keeps it. 404: it is no longer kept."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("leave", "/leader/leave", {
      payload: LeaveDraft,
      success: noContent("The leader does not lead the team."),
      error: bodyFaults
    }).annotateMerge(
      described("Stop leading the team", "If the leader has a prompt, the team's next leader gets it at once.")
    )
  )
  .middleware(LeaderAuth)
  .annotateMerge(
    OpenApi.annotations({
      title: "Leaders over HTTP",
      description: "For leaders that do not use the message broker, with a leader key of their team."
    })
  ) {}
