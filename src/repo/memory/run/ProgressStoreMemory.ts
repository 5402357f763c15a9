import { type Context, Effect } from "effect"
import type { RunId } from "../../../domain/Id.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import {
  keptText,
  type ProgressNews,
  type ProgressReport,
  ProgressStore,
  type ProgressText,
  type RunNews,
  shortestReport
} from "../../run/ProgressStore.ts"
import { isAfter, type Tables } from "../Tables.ts"

interface StoredProgress {
  position: number
  /** Text up to here is gone. */
  keptAfter: number
  seq: number
  activity?: ProgressText
  texts: ReadonlyArray<ProgressText>
}

export const makeProgressStore = (tables: Tables): Context.Tag.Service<ProgressStore> => {
  const progress = new Map<RunId, StoredProgress>()
  let first = 0

  const begin = (): StoredProgress => {
    first += 2 ** 32
    return { position: first, keptAfter: first, seq: -1, texts: [] }
  }

  const add = ({ activity, first_seq, run_id, seq, text }: ProgressReport) => {
    const row = tables.find(run_id)?.row
    if (row === undefined || isFinal(row.status)) return
    const stored = progress.get(run_id) ?? begin()
    if (first_seq <= stored.seq) stored.keptAfter = ++stored.position
    stored.position += Math.max(shortestReport, text?.length ?? 0)
    stored.keptAfter = Math.max(stored.keptAfter, stored.position - keptText)
    stored.seq = seq
    const { position } = stored
    if (activity !== undefined) stored.activity = { text: activity, position }
    if (text !== undefined) stored.texts = [...stored.texts, { text, position }]
    stored.texts = stored.texts.filter(({ position }) => position > stored.keptAfter)
    progress.set(run_id, stored)
  }

  const after = ({ activity, keptAfter, position, texts }: StoredProgress, mark: number): ProgressNews => {
    const isNew = (it: ProgressText) => mark > position || it.position > mark
    return {
      position,
      kept_after: keptAfter,
      texts: texts.filter(isNew),
      ...(activity !== undefined && isNew(activity) && { activity })
    }
  }

  return ProgressStore.of({
    addProgress: (reports) => Effect.sync(() => reports.forEach(add)),
    newsOf: (marks) =>
      Effect.sync(() =>
        marks.flatMap(({ position, run_id }): ReadonlyArray<RunNews> => {
          const row = tables.find(run_id)?.row
          if (row === undefined) return []
          const stored = progress.get(run_id)
          const { started_at } = row
          const isNews = stored !== undefined && stored.position !== position
          return [
            {
              run_id,
              ...(started_at !== undefined && { started_at }),
              ...(isNews && { progress: after(stored, position) })
            }
          ]
        })
      ),
    removeProgress: (endedBefore) =>
      Effect.sync(() => {
        for (const run_id of progress.keys()) {
          const row = tables.find(run_id)?.row
          const isKept = row !== undefined && (row.finished_at === undefined || !isAfter(endedBefore, row.finished_at))
          if (!isKept) progress.delete(run_id)
        }
      })
  })
}
