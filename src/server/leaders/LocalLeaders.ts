/** Leaders in the server's own process: each runs a program for every prompt of its team, on whichever bus the server has. */
import { DateTime, Effect, Layer, Option } from "effect"
import type { TeamName } from "../../domain/Team.ts"
import * as Command from "../../leader/Command.ts"
import { TeamStore } from "../../repo/TeamStore.ts"
import { WebhookStore } from "../../repo/WebhookStore.ts"
import * as FirstWebhook from "./FirstWebhook.ts"
import { hideFromPrograms } from "./HiddenSecrets.ts"
import type { TeamLeader } from "./LeaderList.ts"
import * as ProgramUser from "./ProgramUser.ts"

export interface Options {
  readonly leaders: ReadonlyArray<TeamLeader>
  /** `user` or `user:group` that the programs run as. Absent: the server's. */
  readonly leaderUser: Option.Option<string>
  /** Environment variables with the server's secrets. */
  readonly secrets: ReadonlyArray<string>
}

/** Fails when a program or the user does not exist, before anything is started. */
export const check = ({ leaders, leaderUser }: Omit<Options, "secrets">) =>
  Effect.zipRight(
    ProgramUser.find(leaderUser),
    Effect.forEach(leaders, ({ command }) => Command.checkProgram(command), { discard: true })
  )

/** Leads the teams while the layer lives. Their programs get none of the server's secrets. */
export const layer = ({ leaders, leaderUser, secrets }: Options) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      if (leaders.length === 0) return
      const user = yield* ProgramUser.find(leaderUser)
      const values = secrets.flatMap((name) => process.env[name] || [])
      if (Option.isNone(user)) yield* hideFromPrograms("the server's secrets", secrets, values)
      for (const leader of leaders) {
        yield* Command.start({ ...leader, withheld: secrets, ...(Option.isSome(user) && { user: user.value }) })
        yield* Effect.logInfo(`${leader.command} leads the team ${leader.team} in this process`)
      }
    })
  )

/** A team that is led in this process, and its webhook if that was created just now. */
export interface LocalTeam {
  readonly leader: TeamLeader
  readonly webhook: Option.Option<FirstWebhook.FirstWebhook>
}

const hasWebhook = (team: TeamName) =>
  Effect.flatMap(WebhookStore, ({ webhooks }) => Effect.map(webhooks, (all) => all.some((one) => one.team === team)))

/**
 * Creates the teams that do not exist. `withWebhooks`: a team that has no webhook gets one, with the task as its only
 * variable, so that there is something to call.
 */
export const prepare = (leaders: ReadonlyArray<TeamLeader>, { withWebhooks }: { readonly withWebhooks: boolean }) =>
  Effect.forEach(leaders, (leader) =>
    Effect.gen(function* () {
      const { createTeam } = yield* TeamStore
      yield* Effect.catchTag(createTeam(leader.team, yield* DateTime.now), "TeamExists", () => Effect.void)
      if (!withWebhooks || (yield* hasWebhook(leader.team))) return { leader, webhook: Option.none() }
      return { leader, webhook: Option.some(yield* FirstWebhook.create(leader.team, "{{task}}", "task")) }
    })
  )
