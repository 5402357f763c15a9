import { Effect } from "effect"
import { Command } from "effect/cli"
import { Run } from "../../domain/run/Run.ts"
import { adminOptions, call, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { findRun, runArgument, runNotFound } from "./RunRef.ts"

const decided = {
  approve: { about: "Approve a run that waits for approval: its prompt is sent", done: "Approved." },
  deny: { about: "Deny a run that waits for approval: it is cancelled", done: "Denied. The prompt will not be sent." }
}

const command = <const Decision extends keyof typeof decided>(decision: Decision) =>
  Command.make(decision, { id: runArgument, ...adminOptions }, (options) =>
    call(
      options,
      (client) =>
        Effect.flatMap(findRun(client, options.id), (run_id) =>
          client.runs.decide({ path: { run_id }, payload: { decision } })
        ),
      runNotFound(options.id)
    ).pipe(Effect.flatMap((run) => show(options, Run, run, () => decided[decision].done)))
  ).pipe(
    Command.withDescription(
      about(decided[decision].about, {
        details: "Shows no prompt: see run show. The first decision counts. run list --asks lists the runs that wait.",
        examples: [`webhook-trigger run ${decision} last`]
      })
    )
  )

export const approve = command("approve")
export const deny = command("deny")
