/** Checks what a server and its leaders need. */

import { Deferred, Duration, Effect, Option, Result } from "effect"
import { type Failure, usage } from "../../cli/Failure.ts"
import type { DoctorOptions } from "../../cli/LocalCommands.ts"
import type { AgentName } from "../../domain/AgentName.ts"
import { makeRunId } from "../../domain/Id.ts"
import { TeamName } from "../../domain/Team.ts"
import * as AgentLeader from "../../leader/AgentLeader.ts"
import type { Agent } from "../../leader/agents/Agent.ts"
import { presets } from "../../leader/agents/Presets.ts"
import { type LeaderAnswer, LeaderError } from "../../leader/Leader.ts"
import { settingsInvalid } from "../environment/Overrides.ts"
import { placed } from "../leaders/WorkspaceWords.ts"
import { type Check, check, type Examined, oneLine, report } from "./Check.ts"
import * as Services from "./Services.ts"
import { examineWorkspace } from "./WorkspaceChecks.ts"

const timeout = Duration.minutes(2)

/** How agents and endpoints say that they are not signed in. */
const signedOut =
  /^(401|403|authentication_failed)$|sign(ed)? in|log(ged)? ?in|api[ _-]?key|auth|credential|HTTP 40[13]/i

/** How they say with a step that they are not signed in. They would try again for minutes. */
const refused = /\b(401|403|authentication_failed)\b/

/** Lets it answer one prompt. */
const answer = (agent: Agent): Effect.Effect<LeaderAnswer, LeaderError> =>
  Effect.gen(function* () {
    const run_id = yield* makeRunId
    const isRefused = Deferred.makeUnsafe<never, LeaderError>()
    const answered = agent.answer({
      prompt: {
        ...{ run_id, correlation_id: run_id, source: "chat", team: TeamName.make("doctor") },
        prompt: "Reply with the word OK. Use no tools."
      },
      place: {},
      progress: ({ steps = [] }) => {
        const reason = steps.find(({ kind, title = "" }) => kind === "retry" && refused.test(title))?.title
        const code = refused.exec(reason ?? "")?.[0]
        if (code !== undefined) Deferred.doneUnsafe(isRefused, new LeaderError({ message: code }))
      },
      report: () => {}
    })
    return yield* Effect.raceFirst(answered, Deferred.await(isRefused))
  }).pipe(
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () => Effect.fail(new LeaderError({ message: `no answer within ${Duration.format(timeout)}` }))
    })
  )

const checksOf = (agent: Agent): Effect.Effect<ReadonlyArray<Check>> =>
  Effect.gen(function* () {
    const program = yield* Effect.result(AgentLeader.checkProgram(agent))
    if (Result.isFailure(program)) {
      return [
        check("program", "no", program.failure.message),
        check("signed in", "unknown"),
        check("answers", "unknown")
      ]
    }
    const found = check("program", "yes", agent.program ?? "none needed")
    const [took, answered] = yield* Effect.timed(Effect.result(answer(agent)))
    if (Result.isSuccess(answered)) {
      const response = typeof answered.success === "string" ? answered.success : answered.success.response
      const said = `${Duration.toSeconds(took).toFixed(1)} s: ${oneLine(response)}`
      return [found, check("signed in", "yes"), check("answers", "yes", said)]
    }
    const message = oneLine(answered.failure.message)
    return signedOut.test(message)
      ? [found, check("signed in", "no", message), check("answers", "no")]
      : [found, check("signed in", "unknown"), check("answers", "no", message)]
  })

/** Checks an agent before it leads a team. */
const examineAgent = (name: AgentName, words: ReadonlyArray<string>): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const preset = presets[name]
    const { agent, workspace } = yield* Effect.mapError(Effect.fromResult(placed(words, preset.agent)), (detail) =>
      usage(detail)
    )
    const place: Examined = Option.isSome(workspace) ? yield* examineWorkspace(workspace.value) : { checks: [] }
    const checks = yield* checksOf(agent)
    const isReady = checks.every(({ result }) => result === "yes")
    yield* report(
      [...place.checks, ...checks],
      `${isReady ? "The workspace" : preset.title} does not work yet`,
      [isReady ? [] : preset.help, place.help ?? []].flat().join(" ")
    )
  })

const examineServices: Effect.Effect<void, Failure> = Effect.gen(function* () {
  const services = yield* Effect.mapError(Services.settings, (error) => settingsInvalid("The check", error))
  const examined = yield* Services.examine(services)
  if (examined.length === 0)
    return yield* usage(
      "choose an agent with --agent, or set DATABASE_URL, AMQP_URL, SMTP_URL, WEBHOOK_FILES_S3 or OIDC_ISSUER to check those services"
    )
  yield* report(
    examined.flatMap(({ checks }) => checks),
    "A server cannot work with these settings",
    examined.flatMap(({ help }) => help ?? []).join(" ")
  )
})

/** The `doctor` command. */
export const examine = ({ agent, options, workspace }: DoctorOptions): Effect.Effect<void, Failure> =>
  Option.match(agent, {
    onNone: () => (workspace.length === 0 ? examineServices : usage("--workspace needs --agent")),
    onSome: (agent) => examineAgent(agent, [...workspace, ...options])
  })
