/** Any program as a team's leader: the prompt on its standard input, the answer from its standard output. */
import { accessSync, constants, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { type Duration, Effect, type Redacted, Schema } from "effect"
import * as LeaderAmqp from "../amqp/LeaderAmqp.ts"
import type { QueueType } from "../amqp/Topology.ts"
import type { TeamName } from "../domain/Team.ts"
import type { LeaderBus, Prompt } from "../engine/Bus.ts"
import * as Leader from "./Leader.ts"
import { runProgram } from "./Program.ts"

export interface CommandOptions {
  readonly team: TeamName
  /** A program's path, or a name to look for in `PATH`. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** How long the program may take for one prompt; then its whole process group is ended. Absent: as long as it likes. */
  readonly timeout?: Duration.DurationInput
  /** How long a prompt in work may go on after the leader was told to stop; default 10 seconds. */
  readonly grace?: Duration.DurationInput
}

/** There is no such program, or it may not be run. */
export class ProgramMissing extends Schema.TaggedError<ProgramMissing>()("ProgramMissing", {
  command: Schema.String
}) {
  override get message() {
    return `There is no program "${this.command}" that can be run; give its path, or a name that is in PATH.`
  }
}

/**
 * Leads the team with the program, for ever. Needs a `LeaderBus`; `runAmqp` brings its own.
 *
 * When it is interrupted (by SIGINT or SIGTERM, say) it takes no more work, and the program in work may finish within
 * the grace, its answer being sent; after that it is ended, and its prompt goes back to be delivered again, first.
 */
export const run = (options: CommandOptions): Effect.Effect<never, ProgramMissing, LeaderBus> =>
  Effect.gen(function* () {
    if (!canRun(options.command)) return yield* new ProgramMissing({ command: options.command })
    return yield* Leader.run({
      team: options.team,
      grace: options.grace ?? "10 seconds",
      handler: (prompt) => runProgram({ ...options, input: prompt.prompt, env: environment(prompt) })
    })
  })

/** `run` on RabbitMQ. */
export const runAmqp = (
  options: CommandOptions & { readonly amqpUrl: Redacted.Redacted<string>; readonly queueType: QueueType }
): Effect.Effect<never, ProgramMissing> =>
  Effect.provide(run(options), LeaderAmqp.layer({ url: options.amqpUrl, queueType: options.queueType }))

/** What the program is told beside the prompt. The keys that open broker, database and server are none of its business. */
const environment = (prompt: Prompt): Readonly<Record<string, string | undefined>> => ({
  ...process.env,
  AMQP_URL: undefined,
  DATABASE_URL: undefined,
  ADMIN_API_KEY: undefined,
  WEBHOOK_TOKEN: undefined,
  WEBHOOK_RUN_ID: prompt.run_id,
  WEBHOOK_TEAM: prompt.team,
  WEBHOOK_SOURCE: prompt.source,
  WEBHOOK_ID: prompt.webhook?.id,
  WEBHOOK_NAME: prompt.webhook?.name,
  WEBHOOK_DEADLINE: prompt.deadline?.toISOString()
})

const canRun = (command: string): boolean => {
  const folders = command.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter)
  return folders.some((folder) => {
    const path = isAbsolute(command) || folder === "" ? command : join(folder, command)
    try {
      accessSync(path, constants.X_OK)
      const { mode } = statSync(path)
      // For root, access alone may say yes to any file.
      return (mode & constants.S_IFMT) === constants.S_IFREG && (mode & 0o111) !== 0
    } catch {
      return false
    }
  })
}
