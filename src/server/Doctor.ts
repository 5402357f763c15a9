/** Checks that an agent works, before it leads a team. */
import { Duration, Effect, Either } from "effect"
import { exitCodes, Failure, usage } from "../cli/Failure.ts"
import type { DoctorOptions } from "../cli/LocalCommands.ts"
import { print } from "../cli/Output.ts"
import { makeRunId } from "../domain/Id.ts"
import { TeamName } from "../domain/Team.ts"
import * as AgentLeader from "../leader/AgentLeader.ts"
import type { Agent } from "../leader/agents/Agent.ts"
import { presets } from "../leader/agents/Presets.ts"
import { type LeaderAnswer, LeaderError } from "../leader/Leader.ts"

const timeout = Duration.minutes(2)

/** How agents and endpoints say that they are not signed in. */
const signedOut = /sign(ed)? in|log(ged)? ?in|api[ _-]?key|auth|credential|HTTP 40[13]/i

interface Check {
  readonly what: string
  readonly result: "yes" | "no" | "unknown"
  readonly detail?: string
}

const check = (what: string, result: Check["result"], detail?: string): Check => ({
  ...{ what, result },
  ...(detail !== undefined && { detail })
})

const printCheck = ({ detail, result, what }: Check) =>
  print(`${what.padEnd(11)}${detail === undefined ? result : `${result.padEnd(9)}${detail}`}`)

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim().slice(0, 200)

/** Lets it answer one prompt. */
const answer = (agent: Agent): Effect.Effect<LeaderAnswer, LeaderError> =>
  Effect.flatMap(makeRunId, (run_id) =>
    agent.answer({
      prompt: {
        ...{ run_id, correlation_id: run_id, source: "chat", team: TeamName.make("doctor") },
        prompt: "Reply with the word OK. Use no tools."
      },
      place: {},
      progress: () => {},
      report: () => {}
    })
  ).pipe(
    Effect.timeoutFail({
      duration: timeout,
      onTimeout: () => new LeaderError({ message: `no answer within ${Duration.format(timeout)}` })
    })
  )

const checksOf = (agent: Agent): Effect.Effect<ReadonlyArray<Check>> =>
  Effect.gen(function* () {
    const program = yield* Effect.either(AgentLeader.checkProgram(agent))
    if (Either.isLeft(program)) {
      return [check("program", "no", program.left.message), check("signed in", "unknown"), check("answers", "unknown")]
    }
    const found = check("program", "yes", agent.program ?? "none needed")
    const [took, answered] = yield* Effect.timed(Effect.either(answer(agent)))
    if (Either.isRight(answered)) {
      const response = typeof answered.right === "string" ? answered.right : answered.right.response
      const said = `${Duration.toSeconds(took).toFixed(1)} s: ${oneLine(response)}`
      return [found, check("signed in", "yes"), check("answers", "yes", said)]
    }
    const message = oneLine(answered.left.message)
    return signedOut.test(message)
      ? [found, check("signed in", "no", message), check("answers", "no")]
      : [found, check("signed in", "unknown"), check("answers", "no", message)]
  })

/** The `doctor` command. */
export const examine = ({ agent: name, options }: DoctorOptions): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const preset = presets[name]
    const agent = yield* Effect.mapError(preset.agent(options), (detail) => usage(detail))
    const checks = yield* checksOf(agent)
    yield* Effect.forEach(checks, printCheck, { discard: true })
    if (checks.every(({ result }) => result === "yes")) return
    return yield* new Failure({
      exit: exitCodes.refused,
      title: `${preset.title} does not work yet`,
      detail: preset.help
    })
  })
