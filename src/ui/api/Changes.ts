import type { Query, QueryClient } from "@tanstack/react-query"
import { isFinal, type RunStatus } from "../../domain/run/RunStatus.ts"
import { api } from "./Client.ts"
import { ApiError } from "./Errors.ts"
import type { ChangeEvent, Run, RunState, RunSummary, Thread, Webhook } from "./Types.ts"

/** A change reported by the server, or `anything` after a period without notifications. */
export type Change = ChangeEvent | "anything"

/** In milliseconds. Two updates a second are enough for a reader. */
const coalesced = 500

/** The minimum interval between refetches of a query after changes, in milliseconds. */
const intervals = {
  run: 0,
  runs: 2_000,
  replays: 2_000,
  "all-runs": 2_000,
  "team-runs": 2_000,
  "thread-runs": 1_000,
  thread: 1_000,
  requests: 1_000,
  statistics: 2_000
} as const

/**
 * The server answers these from one read that all readers share, for up to 5 seconds. What it answers earlier after a change
 * can be from before it. In milliseconds, with a second for the read itself.
 */
const shared = { activity: 3_000, totals: 6_000, now: 2_000 } as const

/** The minimum interval of a text search, which costs the database more. */
const searching = 10_000

/** And that of questions: the reply to one is another run. */
const asking = 5_000

const affected: ReadonlySet<unknown> = new Set([...Object.keys(intervals), "teams", "webhook", "webhooks"])

/** If more webhooks change, the list is refetched. */
const mostReadAlone = 5

export interface RunsFilter {
  readonly status?: RunStatus
  /** Accepted at or after, RFC 3339. */
  readonly from?: string
  /** Accepted before, RFC 3339. */
  readonly to?: string
  readonly cursor?: string
}

/** The filter for the runs of all webhooks and teams. */
export type AllRunsFilter = Parameters<typeof api.runs.list>[0]["query"]

type RunPage = Awaited<ReturnType<typeof api.webhooks.runs>>

/** Whether the run's state matches the filter. It cannot check the text search, nor the thread. */
const isWithin = (run: RunState, filter: Omit<AllRunsFilter, "status"> & { readonly status?: unknown }): boolean => {
  const { duration_ms = Number.NaN } = run
  return (
    (filter.status === undefined || [filter.status].flat().includes(run.status)) &&
    (filter.webhook_id === undefined || filter.webhook_id === run.webhook_id) &&
    (filter.team === undefined || filter.team === run.team) &&
    (filter.source === undefined || filter.source === run.source) &&
    (filter.mode === undefined || filter.mode === run.mode) &&
    (filter.from === undefined || Date.parse(run.accepted_at) >= Date.parse(filter.from)) &&
    (filter.to === undefined || Date.parse(run.accepted_at) < Date.parse(filter.to)) &&
    (filter.min_duration_ms === undefined || duration_ms >= filter.min_duration_ms) &&
    (filter.max_duration_ms === undefined || duration_ms <= filter.max_duration_ms)
  )
}

/** A request that joins a run replaces its texts. A run that is approved is no longer one that asks. */
const hasOtherTexts = (run: RunState, state: RunState): boolean =>
  run.joined !== state.joined || run.held_for !== state.held_for || run.held_until !== state.held_until

/** Whether the page must be refetched: a run must be added or removed, or its texts changed. */
const isOutdated = (page: RunPage, filter: RunsFilter | AllRunsFilter, states: Iterable<RunState>): boolean => {
  const listed = new Map(page.data.map((run) => [run.run_id, run]))
  const oldest = page.next_cursor === null ? "" : page.data.at(-1)!.accepted_at
  for (const state of states) {
    const shown = listed.get(state.run_id)
    if (shown && hasOtherTexts(shown, state)) return true
    if (listed.has(state.run_id) !== isWithin(state, filter)) {
      if (listed.has(state.run_id) || (filter.cursor === undefined && state.accepted_at >= oldest)) return true
    }
  }
  return false
}

const byName = (a: Webhook, b: Webhook): number => {
  const [left, right] = [a, b].map(({ name, id }) => `${name.toLowerCase()}\0${id}`) as [string, string]
  return left < right ? -1 : 1
}

/**
 * Applies reported changes to cached queries. Refetches only data that is not in the report: texts, new rows, charts and
 * edited webhooks.
 */
export const makeChanges = (queries: QueryClient) => {
  const runs = new Map<string, RunState>()
  const webhooks = new Set<string>()
  const requests = new Set<string>()
  let incomplete = false
  let anything = false
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  const changedAgain = new Set<string>()

  /** Calls once after `wait`, even if requested several times. */
  const later = (key: string, wait: number, call: () => void) => {
    if (timers.has(key)) return
    const run = () => {
      timers.delete(key)
      call()
    }
    timers.set(key, setTimeout(run, wait))
  }
  const invalidate = (query: Query): void => {
    // Reading the list again would end the reading of its next page, and nobody would see that.
    const isReadingMore = query.state.fetchStatus === "fetching" && query.state.fetchMeta?.fetchMore !== undefined
    if (isReadingMore) later(query.queryHash, 100, () => invalidate(query))
    else void queries.invalidateQueries({ queryKey: query.queryKey, exact: true })
  }
  const intervalOf = (query: Query): number => {
    const { asks, search }: AllRunsFilter = query.queryKey[0] === "all-runs" ? (query.queryKey[1] as AllRunsFilter) : {}
    if (search !== undefined) return searching
    if (asks !== undefined) return asking
    return intervals[query.queryKey[0] as keyof typeof intervals] ?? 0
  }
  /** Reads once more if there were changes during the wait: another reader may have caused the shared read before them. */
  const readShared = (query: Query, wait: number) => {
    if (timers.has(query.queryHash)) changedAgain.add(query.queryHash)
    later(query.queryHash, wait, () => {
      invalidate(query)
      if (changedAgain.delete(query.queryHash)) readShared(query, wait)
    })
  }
  const readAgain = (query: Query) => {
    const kind = query.queryKey[0] as string
    const wait = Math.max(0, query.state.dataUpdatedAt + intervalOf(query) - Date.now())
    if (!query.isActive()) invalidate(query)
    else if (kind in shared) readShared(query, shared[kind as keyof typeof shared])
    else if (wait > 0) later(query.queryHash, wait, () => invalidate(query))
    else invalidate(query)
  }
  /** Changes the data without changing the query's age or validity. */
  const patch = <A>(query: Query, change: (data: A) => A) => {
    const { dataUpdatedAt: updatedAt, isInvalidated } = query.state
    const data = query.state.data as A | undefined
    if (data === undefined) return
    queries.setQueryData(query.queryKey, change(data), { updatedAt })
    if (isInvalidated) query.invalidate()
  }
  const patchRuns = (all: ReadonlyArray<RunSummary>): ReadonlyArray<RunSummary> =>
    all.map((run) => ({ ...run, ...runs.get(run.run_id) }))

  const patchWebhook = (webhook: Webhook, states: ReadonlyArray<RunState>): Webhook => {
    const last = states.reduce((last, { accepted_at }) => (accepted_at > last ? accepted_at : last), "")
    return last > (webhook.last_triggered_at ?? "") ? { ...webhook, last_triggered_at: last } : webhook
  }

  const applyToPage = (query: Query, filter: RunsFilter | AllRunsFilter, states: ReadonlyArray<RunState>) => {
    const page = query.state.data as RunPage | undefined
    const mayMiss = incomplete && filter.cursor === undefined
    const mayAsk = "asks" in filter && states.length > 0
    if (page && (mayMiss || mayAsk || isOutdated(page, filter, states))) readAgain(query)
    if (states.length > 0) patch<RunPage>(query, (page) => ({ ...page, data: patchRuns(page.data) }))
  }

  const applyRuns = (query: Query, ofWebhooks: ReadonlyMap<string, ReadonlyArray<RunState>>) => {
    const [kind, id, filter] = query.queryKey as readonly [string, string, RunsFilter]
    switch (kind) {
      case "run": {
        const state = runs.get(id)
        const known = query.state.data as Run | undefined
        const hasEnded = state && known && isFinal(state.status) && !isFinal(known.status)
        // A retry was scheduled, started or cancelled.
        const isRetried = state && known && state.retry_at !== known.retry_at
        if (hasEnded || isRetried || (state && known && hasOtherTexts(known, state))) readAgain(query)
        else if (state) patch<Run>(query, (run) => ({ ...run, ...state }))
        break
      }
      case "runs":
        applyToPage(query, filter, ofWebhooks.get(id) ?? [])
        break
      case "all-runs":
        applyToPage(query, query.queryKey[1] as AllRunsFilter, [...runs.values()])
        break
      case "replays": {
        const shown = (query.state.data as { readonly data: ReadonlyArray<RunSummary> } | undefined)?.data
        if (incomplete || shown?.some(({ run_id }) => runs.has(run_id))) readAgain(query)
        break
      }
      // They show answers.
      case "team-runs":
      case "thread-runs":
        if (incomplete || [...runs.values()].some(({ team }) => team === id)) readAgain(query)
        break
      case "thread": {
        const thread = query.state.data as Thread | undefined
        if (incomplete || [...runs.values()].some(({ team }) => team === thread?.team)) readAgain(query)
        break
      }
      case "requests":
        if (incomplete || requests.has(id)) readAgain(query)
        break
      case "statistics":
        if (incomplete || ofWebhooks.has(id)) readAgain(query)
        break
      case "activity":
      case "totals":
      case "now":
        readAgain(query)
        break
      case "webhook":
        patch<Webhook>(query, (webhook) => patchWebhook(webhook, ofWebhooks.get(id) ?? []))
        break
      case "webhooks":
        patch<ReadonlyArray<Webhook>>(query, (all) =>
          all.map((webhook) => patchWebhook(webhook, ofWebhooks.get(webhook.id) ?? []))
        )
    }
  }

  const replaceWebhook = (id: string, webhook: Webhook | undefined) => {
    const list = queries.getQueryCache().find({ queryKey: ["webhooks"] })
    if (list) {
      patch<ReadonlyArray<Webhook>>(list, (all) =>
        [...all.filter((other) => other.id !== id), ...(webhook ? [webhook] : [])].sort(byName)
      )
    }
  }
  const readWebhook = async (id: string) => {
    try {
      const webhook = await queries.fetchQuery({
        queryKey: ["webhook", id],
        queryFn: ({ signal }) => api.webhooks.show({ path: { id }, signal }),
        staleTime: 0
      })
      replaceWebhook(id, webhook)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) return
      replaceWebhook(id, undefined)
      const isOfWebhook = ({ queryKey: [kind, key], state }: Query) =>
        ((kind === "runs" || kind === "statistics") && key === id) ||
        (kind === "run" && (state.data as Run | undefined)?.webhook_id === id)
      void queries.invalidateQueries({ predicate: isOfWebhook })
    }
  }
  const applyWebhooks = () => {
    if (webhooks.size > mostReadAlone || incomplete) {
      void queries.invalidateQueries({ predicate: ({ queryKey: [kind] }) => kind === "webhook" || kind === "webhooks" })
    } else for (const id of webhooks) void readWebhook(id)
  }

  const apply = () => {
    if (anything) {
      for (const query of queries.getQueryCache().getAll()) {
        const kind = query.queryKey[0] as string
        if (kind in shared) readAgain(query)
        else if (affected.has(kind)) invalidate(query)
      }
    } else {
      const ofWebhooks = new Map<string, Array<RunState>>()
      for (const state of runs.values()) {
        if (state.webhook_id === undefined) continue
        const states = ofWebhooks.get(state.webhook_id) ?? []
        ofWebhooks.set(state.webhook_id, states)
        states.push(state)
      }
      for (const query of queries.getQueryCache().getAll()) applyRuns(query, ofWebhooks)
      if (webhooks.size > 0) applyWebhooks()
    }
    runs.clear()
    webhooks.clear()
    requests.clear()
    incomplete = false
    anything = false
  }

  return {
    add: (change: Change): void => {
      if (change === "anything") anything = true
      else {
        for (const state of change.runs) runs.set(state.run_id, state)
        for (const id of change.webhooks) webhooks.add(id)
        for (const id of change.requests) requests.add(id)
        incomplete ||= change.incomplete
      }
      later("apply", coalesced, apply)
    },
    stop: (): void => {
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
    }
  }
}
