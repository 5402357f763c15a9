/** Leaders in the server's own process: each runs a program for every prompt of its team, on whichever bus the server has. */
import { chownSync, mkdirSync } from "node:fs"
import { resolve } from "node:path"
import { Data, DateTime, type Duration, Effect, Layer, Option, Scope } from "effect"
import type { TeamName } from "../../domain/Team.ts"
import * as AgentLeader from "../../leader/AgentLeader.ts"
import * as ProcessGroup from "../../leader/ProcessGroup.ts"
import type { SystemUser } from "../../leader/SystemUser.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as FirstWebhook from "./FirstWebhook.ts"
import { hideFromPrograms } from "./HiddenSecrets.ts"
import * as LeaderDrain from "./LeaderDrain.ts"
import type { TeamLeader } from "./LeaderList.ts"
import * as ProgramUser from "./ProgramUser.ts"

export interface Options {
  readonly leaders: ReadonlyArray<TeamLeader>
  readonly agents: ReadonlyArray<TeamLeader>
  /** The folder with a working folder for each agent's team. */
  readonly agentsDir: string
  /** The folder in which running programs are remembered, if there is one. */
  readonly programsDir: string | undefined
  /** How long each may show nothing, unless it says so itself. */
  readonly agentStallTimeout: Option.Option<Duration.Duration>
  /** `user` or `user:group` that the programs run as. Absent: the server's. */
  readonly leaderUser: Option.Option<string>
  /** How long they may finish the run in hand at a stop. Default: of `LeaderDrain`. */
  readonly leaderDrain: Option.Option<Duration.Duration>
  /** Environment variables with the server's secrets. */
  readonly secrets: ReadonlyArray<string>
}

/** The options of a team's agent are wrong. */
export class OptionsUnusable extends Data.TaggedError("OptionsUnusable")<{ readonly message: string }> {}

const agentOf = ({ agent, team }: TeamLeader) =>
  Effect.mapError(
    Effect.fromResult(agent),
    (fault) => new OptionsUnusable({ message: `The leader of the team ${team}: ${fault}` })
  )

/** Fails when options are wrong, or a program or the user does not exist, before anything is started. */
export const check = ({ agents, leaders, leaderUser }: Pick<Options, "agents" | "leaders" | "leaderUser">) =>
  Effect.andThen(
    ProgramUser.find(leaderUser),
    Effect.forEach(
      [...leaders, ...agents],
      (leader) => Effect.flatMap(agentOf(leader), ({ agent }) => AgentLeader.checkProgram(agent)),
      { discard: true }
    )
  )

/** An agent's working folder could not be created. */
export class FolderUnusable extends Data.TaggedError("FolderUnusable")<{ readonly message: string }> {}

/**
 * Creates the team's working folder. Agents may read what is in it, and the server's own folder may have its database and
 * its secrets key.
 */
const workingFolder = (agentsDir: string, team: TeamName, user: Option.Option<SystemUser>) =>
  Effect.try({
    try: () => {
      const folder = resolve(agentsDir, team)
      // Git finds the folders in it by their paths, as the user.
      mkdirSync(agentsDir, { recursive: true, mode: 0o711 })
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (Option.isSome(user)) chownSync(folder, user.value.uid, user.value.gid)
      return folder
    },
    catch: (error) => new FolderUnusable({ message: `AGENTS_DIR: no folder for the team ${team}: ${error}` })
  })

/** How programs of a crashed server are ended. */
const stopOfLeft = { signal: "SIGTERM", grace: "5 seconds" } as const

/** Leads the teams while the layer lives. Their programs get none of the server's secrets. */
export const layer = ({
  agents,
  agentsDir,
  agentStallTimeout,
  leaderDrain,
  leaders,
  leaderUser,
  programsDir,
  secrets
}: Options) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      if (leaders.length + agents.length === 0) return
      const remembered = programsDir === undefined ? {} : { remembered: programsDir }
      if (programsDir !== undefined) yield* ProcessGroup.endLeft(programsDir, stopOfLeft)
      const user = yield* ProgramUser.find(leaderUser)
      const values = secrets.flatMap((name) => process.env[name] || [])
      if (Option.isNone(user)) yield* hideFromPrograms("the server's secrets", secrets, values)
      // They stop at the same time: each may take its whole grace period.
      const all = yield* Effect.acquireRelease(Scope.make("parallel"), Scope.close)
      const lead = (leader: TeamLeader, more: Pick<AgentLeader.AgentLeaderOptions, "folder" | "grace">) =>
        Effect.gen(function* () {
          const { team, title } = leader
          const { agent, stallTimeout, workspace } = yield* agentOf(leader)
          const stall = Option.getOrElse(stallTimeout, () => agentStallTimeout)
          const runsAs = Option.isSome(user) ? { user: user.value } : {}
          const leading = yield* Scope.fork(all)
          yield* Scope.provide(
            AgentLeader.start({
              ...{ team, agent, ...more, ...runsAs, withheld: secrets, ...remembered },
              ...(Option.isSome(workspace) && { workspace: workspace.value }),
              ...(Option.isSome(stall) && { stallTimeout: stall.value }),
              workspaces: resolve(agentsDir, ".workspaces")
            }),
            leading
          )
          yield* Effect.logInfo(`${title} leads the team ${team} in this process`)
        })
      const graceOf = (leads: "agent" | "program") => LeaderDrain.graceOf(leaderDrain, leads)
      for (const leader of leaders) yield* lead(leader, { grace: graceOf("program") })
      for (const agent of agents) {
        const folder = yield* workingFolder(agentsDir, agent.team, user)
        yield* lead(agent, { folder, grace: graceOf("agent") })
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
