import { type Context, DateTime, Duration, Effect } from "effect"
import type { LeaderId, LeaderKeyId, RunId } from "../../../domain/Id.ts"
import type { TeamName } from "../../../domain/Team.ts"
import {
  type AskingLeader,
  absentAfter,
  type HttpLeader,
  HttpLeaderStore,
  type OfferedPrompt,
  replacedAfter,
  replacedAfterClose
} from "../../run/HttpLeaderStore.ts"
import type { Tables } from "../Tables.ts"

interface StoredPrompt extends OfferedPrompt {
  readonly taken: boolean
  readonly cancelled: boolean
  readonly done: boolean
}

/** A team's row. */
export interface StoredHttpLeader {
  readonly leader: LeaderId | undefined
  readonly key_id: LeaderKeyId | undefined
  readonly left?: { readonly leader: LeaderId; readonly at: DateTime.Utc }
  readonly seen_at: DateTime.Utc
  readonly prompt?: StoredPrompt
}

export const makeHttpLeaderStore = (tables: Tables): Context.Tag.Service<HttpLeaderStore> => {
  const { httpLeaders: rows, leaderKeys, notify } = tables

  const rowOf = (team: TeamName) => rows.get(team)
  const isValid = ({ key_id, team }: { readonly team: TeamName; readonly key_id: LeaderKeyId | undefined }) =>
    key_id !== undefined && leaderKeys.get(key_id)?.team === team
  const isLedBy = ({ leader, team }: HttpLeader) => rowOf(team)?.leader === leader
  const leaderChanged = (team: TeamName) => notify({ _tag: "LeaderChanged", team })
  const promptChanged = (team: TeamName) => notify({ _tag: "PromptChanged", team })

  const change = (team: TeamName, fields: Partial<StoredHttpLeader>) => {
    const row = rowOf(team)
    if (row !== undefined) rows.set(team, { ...row, ...fields })
  }
  /** The team's prompt, if it is this one and unfinished. */
  const unfinished = (team: TeamName, run_id: RunId) => {
    const prompt = rowOf(team)?.prompt
    return prompt?.run_id === run_id && !prompt.done ? prompt : undefined
  }

  const ask = (asking: AskingLeader, now: DateTime.Utc, mayReplace: boolean) => {
    const { key_id, leader, team } = asking
    const row = rowOf(team)
    const isOther = row?.leader !== leader
    if (row !== undefined && isOther) {
      const hasLeader = row.leader !== undefined && isValid({ team, key_id: row.key_id })
      const isSilent = DateTime.lessThanOrEqualTo(row.seen_at, DateTime.subtractDuration(now, replacedAfter))
      if (hasLeader && !(mayReplace && isSilent)) return []
    }
    const prompt = row?.prompt !== undefined && !row.prompt.done ? row.prompt : undefined
    const taken = prompt && { ...prompt, taken: true, redelivered: prompt.redelivered || (prompt.taken && isOther) }
    rows.set(team, {
      ...row,
      leader,
      key_id,
      seen_at: row === undefined ? now : DateTime.max(row.seen_at, now),
      ...(taken && { prompt: taken })
    })
    if (isOther) leaderChanged(team)
    if (taken === undefined) return []
    const { cancelled, redelivered, run_id, prompt: text } = taken
    return [{ team, leader, run_id, prompt: text, redelivered, cancelled }]
  }

  return HttpLeaderStore.of({
    askToLead: (leaders, now, { mayReplace }) =>
      Effect.sync(() => {
        const hasLeft = ({ asked_at, leader, team }: AskingLeader) => {
          const left = rowOf(team)?.left
          return left?.leader === leader && DateTime.lessThan(asked_at, left.at)
        }
        const valid = leaders.filter((asking) => isValid(asking) && !hasLeft(asking))
        const leading = valid.filter(isLedBy)
        const others = valid.filter(({ team }) => !leading.some((it) => it.team === team))
        const first = others.filter(({ team }, index) => others.findIndex((it) => it.team === team) === index)
        return [...leading, ...first].flatMap((asking) => ask(asking, now, mayReplace))
      }),
    keepPrompts: (prompts, now) =>
      Effect.sync(() =>
        prompts.flatMap(({ leader, run_id, team }) => {
          const prompt = unfinished(team, run_id)
          if (prompt === undefined || !isLedBy({ team, leader })) return []
          change(team, { seen_at: DateTime.max(rowOf(team)!.seen_at, now), prompt: { ...prompt, taken: true } })
          return [{ team, leader, run_id, cancelled: prompt.cancelled }]
        })
      ),
    connectionsClosed: (leaders, now) =>
      Effect.sync(() => {
        const seen_at = DateTime.subtractDuration(now, Duration.subtract(replacedAfter, replacedAfterClose))
        for (const { team } of leaders.filter(isLedBy)) {
          change(team, { seen_at: DateTime.min(rowOf(team)!.seen_at, seen_at) })
        }
      }),
    leaveTeam: (left, now) =>
      Effect.sync(() => {
        if (!isLedBy(left)) return
        const { prompt } = rowOf(left.team)!
        change(left.team, {
          leader: undefined,
          key_id: undefined,
          left: { leader: left.leader, at: now },
          ...(prompt && { prompt: { ...prompt, taken: false, redelivered: prompt.redelivered || prompt.taken } })
        })
        leaderChanged(left.team)
      }),
    offerPrompts: (prompts) =>
      Effect.sync(() => {
        for (const prompt of prompts) {
          if (rowOf(prompt.team)?.prompt?.run_id === prompt.run_id) continue
          change(prompt.team, { prompt: { ...prompt, taken: false, cancelled: false, done: false } })
          promptChanged(prompt.team)
        }
      }),
    cancelPrompt: ({ run_id, team }) =>
      Effect.sync(() => {
        const prompt = unfinished(team, run_id)
        if (prompt === undefined) return
        change(team, { prompt: { ...prompt, cancelled: true } })
        promptChanged(team)
      }),
    finishPrompt: ({ run_id, team }) =>
      Effect.sync(() => {
        const prompt = unfinished(team, run_id)
        if (prompt === undefined) return
        change(team, { prompt: { ...prompt, prompt: "", done: true } })
        promptChanged(team)
      }),
    promptStates: (wanted) =>
      Effect.sync(() =>
        wanted.flatMap((team) => {
          const row = rowOf(team)
          if (row?.prompt === undefined) return []
          const { cancelled, done, run_id } = row.prompt
          return [{ team, run_id, ...(row.leader !== undefined && { leader: row.leader }), done, cancelled }]
        })
      ),
    ledTeams: (now) =>
      Effect.sync(() =>
        [...rows.keys()].filter((team) => {
          const row = rowOf(team)
          const since = DateTime.subtractDuration(now, absentAfter)
          return (
            row?.leader !== undefined &&
            isValid({ team, key_id: row.key_id }) &&
            DateTime.greaterThan(row.seen_at, since)
          )
        })
      )
  })
}
