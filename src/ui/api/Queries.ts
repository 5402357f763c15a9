import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  queryOptions,
  useInfiniteQuery,
  useQuery
} from "@tanstack/react-query"
import { isFinal } from "../../domain/run/RunStatus.ts"
import type { AllRunsFilter, RunsFilter } from "./Changes.ts"
import { api, destinationsOf } from "./Client.ts"
import { ApiError, NetworkError } from "./Errors.ts"
import { askForSignIn } from "./FreshSignIn.ts"
import { setReachable, usePollingInterval } from "./Live.ts"
import type {
  AlertState,
  AuditAction,
  DeliveryStatus,
  Run,
  RunSummary,
  StatisticsRange,
  Thread,
  Webhook
} from "./Types.ts"

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => api.session.show({ signal }),
  staleTime: 5 * 60_000,
  // Each request renews the cookie while the page is open.
  refetchInterval: 10 * 60_000
})

/** Called for every failed request. */
const onError = (error: unknown): void => {
  if (error instanceof NetworkError) setReachable(false)
  if (error instanceof ApiError) setReachable(true)
  if (error instanceof ApiError && error.status === 401) {
    queries.setQueryData(sessionQuery.queryKey, (known) => ({
      signed_in: false,
      ...(known?.provider !== undefined && { provider: known.provider })
    }))
  }
}

/** Resolves once the user has signed in again. */
const signedIn = () =>
  new Promise<void>((resolve) => {
    const stop = queries.getQueryCache().subscribe(() => {
      if (queries.getQueryData(sessionQuery.queryKey)?.signed_in !== true) return
      stop()
      resolve()
    })
  })

/**
 * Performs a request that changes something. If the session has ended, it is repeated after the user signs in; if the request
 * needs a fresh sign-in, after that.
 */
export const runAction = async <A>(action: () => Promise<A>): Promise<A> => {
  for (;;) {
    try {
      const result = await action()
      setReachable(true)
      return result
    } catch (error) {
      onError(error)
      if (needsFreshSignIn(error)) {
        if (!(await askForSignIn())) throw error
      } else if (error instanceof ApiError && error.status === 401) await signedIn()
      else throw error
    }
  }
}

const needsFreshSignIn = (error: unknown): boolean =>
  error instanceof ApiError && error.problem.code === "fresh_sign_in_required"

/** Resolves to whether the sign-in is recent enough for a download, after asking for another one if it is not. */
export const isSignInFresh = async (): Promise<boolean> => {
  const { recent } = await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
  return recent === true || askForSignIn()
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

/** The entries of a list that is not paged. */
const entries = <A>(list: Promise<{ readonly data: A }>): Promise<A> => list.then(({ data }) => data)

export const useServer = () =>
  useQuery({ queryKey: ["server"], queryFn: ({ signal }) => api.overview.server({ signal }), staleTime: 60_000 })

export const useWebhooks = () =>
  useQuery({
    queryKey: ["webhooks"],
    queryFn: ({ signal }) => entries(api.webhooks.list({ signal })),
    refetchInterval: usePollingInterval()
  })

export const useActivity = () =>
  useQuery({
    queryKey: ["activity"],
    queryFn: ({ signal }) => entries(api.overview.activity({ signal })),
    refetchInterval: usePollingInterval()
  })

export const useTotals = () =>
  useQuery({
    queryKey: ["totals"],
    queryFn: ({ signal }) => api.overview.totals({ signal }),
    refetchInterval: usePollingInterval()
  })

// Polled, because what agents report is no change of a run.
export const useNow = (enabled = true) =>
  useQuery({
    enabled,
    queryKey: ["now"],
    queryFn: ({ signal }) => api.overview.now({ signal }),
    refetchInterval: 3_000
  })

// Polled, because the broker sends no notifications about leaders.
export const useTeams = () =>
  useQuery({
    queryKey: ["teams"],
    queryFn: ({ signal }) => entries(api.teams.list({ signal })),
    refetchInterval: 5_000
  })

export const useTeam = (team: string) =>
  useQuery({
    queryKey: ["teams", team],
    queryFn: ({ signal }) => api.teams.show({ path: { team }, signal }),
    refetchInterval: 5_000
  })

export const useLeaderKeys = (team: string, enabled = true) =>
  useQuery({
    enabled,
    queryKey: ["leader-keys", team],
    queryFn: ({ signal }) => entries(api.leaderKeys.list({ path: { team }, signal })),
    refetchInterval: 10_000
  })

export const useTeamRuns = (team: string) =>
  useQuery({
    queryKey: ["team-runs", team],
    queryFn: ({ signal }) => entries(api.overview.teamRuns({ path: { team }, query: { limit: 30 }, signal })),
    refetchInterval: usePollingInterval()
  })

export const useWebhook = (id: string | undefined) =>
  useQuery({
    queryKey: ["webhook", id],
    queryFn: ({ signal }) => api.webhooks.show({ path: { id: id! }, signal }),
    enabled: id !== undefined,
    refetchInterval: usePollingInterval()
  })

export const useTemplates = (id: string) =>
  useQuery({
    queryKey: ["templates", id],
    queryFn: ({ signal }) => api.webhooks.templates({ path: { id }, signal }),
    refetchInterval: 30_000
  })

/** A version of a webhook's template never changes. */
export const useTemplate = (id: string, version: number | undefined) =>
  useQuery({
    queryKey: ["template", id, version],
    queryFn: ({ signal }) => api.webhooks.template({ path: { id, version: String(version) }, signal }),
    enabled: version !== undefined,
    staleTime: Number.POSITIVE_INFINITY
  })

export const useStatistics = (id: string, range: StatisticsRange) =>
  useQuery({
    queryKey: ["statistics", id, range],
    queryFn: ({ signal }) => api.overview.statistics({ path: { id }, query: { range }, signal }),
    refetchInterval: usePollingInterval(),
    placeholderData: keepPreviousData
  })

export const useRuns = (id: string, filter: RunsFilter) =>
  useQuery({
    queryKey: ["runs", id, filter],
    queryFn: ({ signal }) => api.webhooks.runs({ path: { id }, query: filter, signal }),
    refetchInterval: usePollingInterval(),
    placeholderData: keepPreviousData
  })

export const useAllRuns = (filter: AllRunsFilter) =>
  useQuery({
    queryKey: ["all-runs", filter],
    queryFn: ({ signal }) => api.runs.list({ query: filter, signal }),
    refetchInterval: usePollingInterval(),
    placeholderData: keepPreviousData
  })

/** The runs whose agents ask a question that nobody has replied to, newest first, up to a hundred. */
export const useQuestions = () => useAllRuns(questions).data?.data ?? noRuns

const questions = { asks: "true", limit: 100 } as const
const noRuns: ReadonlyArray<RunSummary> = []

export const useUsage = (filter: Omit<AllRunsFilter, "cursor">) =>
  useQuery({
    queryKey: ["usage", filter],
    queryFn: ({ signal }) => api.runs.usage({ query: filter, signal }),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData
  })

/** Rejected and ignored requests. */
export const useRefused = (id: string) =>
  useQuery({
    queryKey: ["requests", id],
    queryFn: ({ signal }) => api.webhooks.requests({ path: { id }, query: { ignored: "true" }, signal })
  })

/** Includes accepted and ignored requests. */
export const useReceived = (id: string) =>
  useQuery({
    queryKey: ["requests", id, "all"],
    queryFn: ({ signal }) => api.webhooks.requests({ path: { id }, query: { accepted: "true" }, signal })
  })

/** A stored request never changes. */
export const storedRequestQuery = (id: string, request_id: string) =>
  queryOptions({
    queryKey: ["request", id, request_id],
    queryFn: ({ signal }) => api.webhooks.request({ path: { id, request_id }, signal }),
    staleTime: Number.POSITIVE_INFINITY
  })

/** A request that the webhook accepts, if it takes whole requests. The recipes are loaded only then. */
export const useSample = (webhook: Webhook | undefined) =>
  useQuery({
    queryKey: ["sample", webhook?.id, webhook?.version],
    queryFn: async () => (await import("../../recipes/SampleFor.ts")).sampleFor(webhook!),
    enabled: webhook?.input === "payload",
    staleTime: Number.POSITIVE_INFINITY
  }).data

/** The destinations of a webhook; without one, of alerts. */
export const useDestinations = (id: string | undefined) =>
  useQuery({
    queryKey: ["destinations", id],
    queryFn: ({ signal }) => destinationsOf(id).list({ path: { id: id ?? "" }, signal }),
    refetchInterval: 10_000
  })

export const useAlerts = (filter: { readonly state?: AlertState; readonly webhook_id?: string } = {}) =>
  useQuery({
    queryKey: ["alerts", filter],
    queryFn: ({ signal }) => entries(api.alerts.list({ query: { ...filter, limit: 100 }, signal })),
    refetchInterval: 5_000
  })

export const useAlertRules = () =>
  useQuery({
    queryKey: ["alert-rules"],
    queryFn: ({ signal }) => entries(api.alerts.rules({ signal })),
    refetchInterval: 30_000
  })

interface DeliveriesFilter {
  readonly destination_id?: string
  readonly run_id?: string
  readonly status?: DeliveryStatus
  readonly cursor?: string
}

/** The deliveries of a webhook; without one, of alerts. */
export const useDeliveries = (id: string | undefined, filter: DeliveriesFilter, enabled = true) =>
  useQuery({
    queryKey: ["deliveries", id, filter],
    queryFn: ({ signal }) => destinationsOf(id).deliveries({ path: { id: id ?? "" }, query: filter, signal }),
    enabled,
    refetchInterval: 5_000,
    placeholderData: keepPreviousData
  })

interface AuditFilter {
  readonly object?: string
  readonly action?: AuditAction
  readonly from?: string
  readonly to?: string
  readonly cursor?: string
}

export const useAudit = (filter: AuditFilter) =>
  useQuery({
    queryKey: ["audit", filter],
    queryFn: ({ signal }) => api.audit.list({ query: filter, signal }),
    refetchInterval: usePollingInterval(),
    placeholderData: keepPreviousData
  })

export const useApiKeys = () =>
  useQuery({
    queryKey: ["api-keys"],
    queryFn: ({ signal }) => entries(api.apiKeys.list({ signal })),
    refetchInterval: 10_000
  })

export const useSessions = () =>
  useQuery({
    queryKey: ["sessions"],
    queryFn: ({ signal }) => entries(api.sessions.list({ signal })),
    refetchInterval: 10_000
  })

export const useReplays = (run_id: string) =>
  useQuery({
    queryKey: ["replays", run_id],
    queryFn: ({ signal }) => api.runs.replays({ path: { run_id }, signal }),
    refetchInterval: usePollingInterval()
  })

/** The agent's steps. While it works, its page follows them instead. */
export const useSteps = (run_id: string, enabled = true) =>
  useQuery({
    queryKey: ["steps", run_id],
    queryFn: ({ signal }) => api.runs.steps({ path: { run_id }, signal }),
    enabled
  })

export const useRun = (run_id: string) => {
  const interval = usePollingInterval()
  return useQuery({
    queryKey: ["run", run_id],
    queryFn: ({ signal }) => api.runs.show({ path: { run_id }, signal }),
    // An ended run changes only after a late answer or a retry.
    refetchInterval: ({ state }) => {
      const run = state.data as Run | undefined
      return run && isFinal(run.status) && run.retry_at === undefined ? false : Math.min(interval, 5_000)
    }
  })
}

/** As many of the newest runs are searched for a part of an ID. */
const searchedRuns = 1_000
/** How many digits of an ID the command line shows on a terminal: the last ones. */
const shortId = 8

const isPartOfId = (text: string): boolean => text.length >= shortId && /^[0-9a-f-]+$/.test(text)

const findRun = async (
  part: string,
  signal: AbortSignal
): Promise<Pick<RunSummary, "run_id" | "title" | "conversation"> | null> => {
  if (part.length === 36) return api.runs.show({ path: { run_id: part }, signal })
  let cursor: string | null | undefined
  for (let read = 0; read < searchedRuns && cursor !== null; read += 100) {
    const page = await api.runs.list({ query: { limit: 100, ...(cursor && { cursor }) }, signal })
    const found = page.data.find(({ run_id }) => run_id.startsWith(part) || run_id.endsWith(part))
    if (found !== undefined) return found
    cursor = page.next_cursor
  }
  return null
}

/** The run with this ID, or the newest whose ID begins or ends so. */
export const useFoundRun = (text: string) => {
  const part = text.trim().toLowerCase()
  return useQuery({
    queryKey: ["found-run", part],
    queryFn: ({ signal }) => findRun(part, signal),
    enabled: isPartOfId(part)
  }).data
}

/** The whole run: a list may have only the beginnings of its texts. */
export const useWholeRun = (run: RunSummary): Run =>
  useQuery({
    queryKey: ["run", run.run_id],
    queryFn: ({ signal }) => api.runs.show({ path: run, signal }),
    enabled: run.truncated,
    select: (whole): Run => (run.truncated ? whole : run)
  }).data ?? run

interface ThreadsFilter {
  readonly key?: string
  readonly cursor?: string
}

export const useThreads = (team: string, filter: ThreadsFilter) =>
  useQuery({
    queryKey: ["threads", team, filter],
    queryFn: ({ signal }) => api.threads.list({ path: { team }, query: filter, signal }),
    refetchInterval: 10_000,
    placeholderData: keepPreviousData
  })

export const useThread = (thread_id: string | undefined) =>
  useQuery({
    queryKey: ["thread", thread_id],
    queryFn: ({ signal }) => api.threads.show({ path: { thread_id: thread_id! }, signal }),
    enabled: thread_id !== undefined,
    refetchInterval: usePollingInterval()
  })

/** The thread's runs in pages, newest first. */
export const useThreadRuns = ({ id, team }: Thread) =>
  useInfiniteQuery({
    queryKey: ["thread-runs", team, id],
    queryFn: ({ pageParam, signal }) => api.runs.list({ query: { thread_id: id, cursor: pageParam }, signal }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: usePollingInterval()
  })
