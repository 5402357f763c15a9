/** The interface of agents: how one answers a prompt, and how a preset makes one of the operator's options. */
import type { Effect, Result } from "effect"
import type { Prompt } from "../../bus/Bus.ts"
import type { AgentReport } from "../../domain/run/AgentReport.ts"
import type { Progress } from "../../domain/run/Progress.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"
import type { LeaderAnswer, LeaderError } from "../Leader.ts"
import type { Place } from "../Place.ts"

/** A prompt to answer. */
export interface Task {
  readonly prompt: Prompt
  /** The prompt's text without the schema of the answer, if that stands at its end. A reply to a question is this alone. */
  readonly said?: string
  readonly place: Place
  /** Shows what it does meanwhile. May be called often. */
  readonly progress: (progress: Progress) => void
  /** Called at each sign of life that is not shown. Absent: silence ends nothing. */
  readonly heard?: () => void
  /** Keeps what is known of the work so far, which is sent even if the run is cancelled. May be called often. */
  readonly report: (report: AgentReport) => void
}

/** A program or an endpoint that answers a team's prompts. */
export interface Agent {
  /** As people know it: `Claude Code`. */
  readonly title: string
  /** The program that must be installed: a path, or a name in `PATH`. Absent for an endpoint. */
  readonly program?: string
  /** Whether it hands such a schema of the answer to its model itself. Default: no; then the schema is named in the prompt. */
  readonly takesSchema?: (schema: JsonObject) => boolean
  /** Interrupted when the run is cancelled. */
  readonly answer: (task: Task) => Effect.Effect<LeaderAnswer, LeaderError>
}

/** An agent that is known by name. Each preset is a file of its own in this folder. */
export interface Preset {
  readonly title: string
  /** Options that make it work, as an example. */
  readonly example: string
  /** Advice for when it does not answer. */
  readonly help: string
  /** The agent with the operator's options, or what is wrong with them. */
  readonly agent: (options: ReadonlyArray<string>) => Result.Result<Agent, string>
}
