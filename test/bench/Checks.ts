/** Checks that each contender did the measured work. One that does less, or refuses, ends the benchmark. */
import { setTimeout as sleep } from "node:timers/promises"
import { until } from "../support/Until.ts"
import type { Counts, Running } from "./Contender.ts"
import type { LoadResult } from "./load/Load.ts"

const expect = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(`not the same work: ${what}`)
}

export const checkAnswers = ({ broken, refused, requests }: LoadResult): void => {
  expect(requests > 0, "no request was answered")
  expect(refused === 0, `${refused} of ${requests} requests were refused`)
  expect(broken === 0, `${broken} connections failed`)
}

/**
 * Waits until all runs have ended: the generator may leave as many in flight as it has connections. The counts come
 * from two processes in sequence, so they only match if they did not change in between.
 */
export const untilIdle = (running: Running): Promise<Counts> => {
  let last: Counts = {}
  return until("all runs have ended", async () => {
    const counts = await running.counts()
    const { ended, prompts, rows } = last
    last = counts
    return (
      counts.rows === counts.ended &&
      counts.rows === rows &&
      counts.ended === ended &&
      counts.prompts === prompts &&
      counts
    )
  })
}

/** No server takes as long from one commit to the next. */
const betweenCommits = 500

/** Waits until every earlier request has its row. */
export const untilAccepted = (running: Running): Promise<Counts> =>
  until("all requests are accepted", async () => {
    const { rows } = await running.counts()
    await sleep(betweenCommits)
    const counts = await running.counts()
    return counts.rows === rows && counts
  })

const between = (value: number, low: number, high: number) => value >= low && value <= high

interface Work {
  readonly before: Counts
  readonly after: Counts
  readonly requests: number
  readonly connections: number
}

/** Each request is a row. */
const checkRows = ({ after, before, connections, requests }: Work): number => {
  const rows = (after.rows ?? 0) - (before.rows ?? 0)
  expect(between(rows, requests, requests + connections), `${requests} requests, ${rows} rows`)
  return rows
}

/** Each request is a row, has ended, and was at the leader once. */
export const checkWaited = (work: Work): void => {
  const rows = checkRows(work)
  const { after, before } = work
  const ended = (after.ended ?? 0) - (before.ended ?? 0)
  expect(ended === rows, `${rows} rows, ${ended} ended`)
  if (after.prompts === undefined || before.prompts === undefined) return
  const prompts = after.prompts - before.prompts
  expect(prompts === rows, `${rows} rows, ${prompts} prompts at the leader`)
}

/** Each request is a row. If prompts are published before the response, a leader gets every one. */
export const checkAccepted = async (work: Work, running: Running, publishesFirst: boolean): Promise<void> => {
  if (work.before.rows === undefined) return
  checkRows(work)
  if (!publishesFirst) return
  await until("the leader has every prompt", async () => {
    const { prompts, rows } = await running.counts()
    return prompts === rows
  })
}
