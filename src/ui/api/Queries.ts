import { keepPreviousData, QueryCache, QueryClient, queryOptions, useQuery } from "@tanstack/react-query"
import { api } from "./Client.ts"
import { ApiError, NetworkError } from "./Errors.ts"
import { setReachable, useInterval } from "./Live.ts"
import type { Run, RunStatus } from "./Types.ts"

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => api.session.show({ signal }),
  staleTime: 5 * 60_000,
  // Renews the cookie while the page is open.
  refetchInterval: 10 * 60_000
})

/** Called for every request that fails, wherever it was made. */
const onError = (error: unknown): void => {
  if (error instanceof NetworkError) setReachable(false)
  if (error instanceof ApiError && error.status === 401) queries.setQueryData(["session"], { signed_in: false })
}

/** Runs an action for its effect, with the same care for lost connections and sessions as the queries have. */
export const act = async <A>(action: Promise<A>): Promise<A> => {
  try {
    const result = await action
    setReachable(true)
    return result
  } catch (error) {
    onError(error)
    throw error
  }
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError, onSuccess: () => setReachable(true) }),
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      networkMode: "always",
      retry: (count, error) => error instanceof ApiError && error.status === 503 && count < 2
    },
    mutations: { networkMode: "always" }
  }
})

export const isFinal = (status: RunStatus): boolean => status !== "queued" && status !== "running"

export const useServer = () =>
  useQuery({ queryKey: ["server"], queryFn: ({ signal }) => api.overview.server({ signal }), staleTime: 60_000 })

export const useWebhooks = () =>
  useQuery({
    queryKey: ["webhooks"],
    queryFn: ({ signal }) => api.webhooks.list({ signal }),
    refetchInterval: useInterval()
  })

export const useActivity = () =>
  useQuery({
    queryKey: ["activity"],
    queryFn: ({ signal }) => api.overview.activity({ signal }),
    refetchInterval: useInterval()
  })

// Whether a team runs is the broker's to say, and the broker tells nobody: so these are asked for.
export const useTeams = () =>
  useQuery({ queryKey: ["teams"], queryFn: ({ signal }) => api.teams.list({ signal }), refetchInterval: 5_000 })

export const useTeam = (team: string) =>
  useQuery({
    queryKey: ["teams", team],
    queryFn: ({ signal }) => api.teams.show({ path: { team }, signal }),
    refetchInterval: 5_000
  })

export const useTeamRuns = (team: string) =>
  useQuery({
    queryKey: ["team-runs", team],
    queryFn: ({ signal }) => api.overview.teamRuns({ path: { team }, query: { limit: 30 }, signal }),
    refetchInterval: useInterval()
  })

export const useWebhook = (id: string | undefined) =>
  useQuery({
    queryKey: ["webhook", id],
    queryFn: ({ signal }) => api.webhooks.show({ path: { id: id! }, signal }),
    enabled: id !== undefined,
    refetchInterval: useInterval()
  })

export type Range = "24h" | "7d" | "30d"

export const useStatistics = (id: string, range: Range) =>
  useQuery({
    queryKey: ["statistics", id, range],
    queryFn: ({ signal }) => api.overview.statistics({ path: { id }, query: { range }, signal }),
    refetchInterval: useInterval(),
    placeholderData: keepPreviousData
  })

export interface RunsFilter {
  readonly status?: RunStatus
  /** Accepted at or after, RFC 3339. */
  readonly from?: string
  /** Accepted before, RFC 3339. */
  readonly to?: string
  readonly cursor?: string
}

export const useRuns = (id: string, filter: RunsFilter) =>
  useQuery({
    queryKey: ["runs", id, filter],
    queryFn: ({ signal }) => api.webhooks.runs({ path: { id }, query: { ...filter, limit: 20 }, signal }),
    refetchInterval: useInterval(),
    placeholderData: keepPreviousData
  })

export const useRun = (run_id: string) => {
  const interval = useInterval()
  return useQuery({
    queryKey: ["run", run_id],
    queryFn: ({ signal }) => api.runs.show({ path: { run_id }, signal }),
    // A final run never changes, but for a late answer.
    refetchInterval: ({ state }) =>
      state.data && isFinal((state.data as Run).status) ? false : Math.min(interval, 5_000)
  })
}
