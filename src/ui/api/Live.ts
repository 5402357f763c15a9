import type { QueryClient } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"

/** `live`: the server notifies us of changes; `polling`: we poll for them; `offline`: the server cannot be reached. */
export type LiveStatus = "live" | "polling" | "offline"

const listeners = new Set<() => void>()
let streaming = false
let reachable = true

const notify = () => {
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
const status = (): LiveStatus => (!reachable ? "offline" : streaming ? "live" : "polling")

export const useLiveStatus = (): LiveStatus => useSyncExternalStore(subscribe, status)

/** Whether the last request reached the server. */
export const setReachable = (value: boolean): void => {
  if (reachable !== value) {
    reachable = value
    notify()
  }
}

const setStreaming = (value: boolean): void => {
  if (streaming !== value) {
    streaming = value
    notify()
  }
}

/** How often to poll, in milliseconds: rarely while the stream is open, as a notification may be lost, and often otherwise. */
export const usePollingInterval = (): number => (useLiveStatus() === "live" ? 30_000 : 4_000)

/** The queries that are refetched when something of this kind has changed. */
const affectedQueries: Record<string, ReadonlyArray<string>> = {
  runs: ["run", "runs", "team-runs", "statistics", "activity", "teams", "webhook", "webhooks"],
  webhooks: ["webhooks", "webhook", "activity"]
}

/** A browser allows a host six connections for all tabs together, so one tab holds the stream and notifies the others. */
const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("webhook-trigger-live")

/** Listens for changes and invalidates the queries they affect; returns the function that stops it. */
export const listen = (queries: QueryClient): (() => void) => {
  const changed = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = () => {
    timer = undefined
    const keys = new Set([...changed].flatMap((kind) => affectedQueries[kind] ?? []))
    changed.clear()
    void queries.invalidateQueries({ predicate: ({ queryKey }) => keys.has(queryKey[0] as string) })
  }
  const onChange = (kinds: ReadonlyArray<string>) => {
    for (const kind of kinds) changed.add(kind)
    // A busy server changes all the time; two refetches a second are enough for a reader.
    timer ??= setTimeout(flush, 500)
  }

  const everything = Object.keys(affectedQueries)
  const stop = new AbortController()
  const stream = () =>
    new Promise<void>((resolve) => {
      const source = new EventSource("/api/events")
      source.onopen = () => {
        setStreaming(true)
        channel?.postMessage("open")
        onChange(everything)
      }
      source.onerror = () => {
        setStreaming(false)
        channel?.postMessage("closed")
        // The browser reconnects automatically, but not after a response such as 401 or 503.
        if (source.readyState === EventSource.CLOSED) setTimeout(done, 5_000)
      }
      source.addEventListener("change", (event) => {
        const kinds = String(event.data).split(",")
        channel?.postMessage(kinds)
        onChange(kinds)
      })
      const done = () => {
        source.close()
        setStreaming(false)
        channel?.postMessage("closed")
        resolve()
      }
      stop.signal.addEventListener("abort", done, { once: true })
    })
  const holdStream = async () => {
    while (!stop.signal.aborted) await stream()
  }

  if (channel) {
    channel.onmessage = ({ data }: MessageEvent<"open" | "closed" | "query" | ReadonlyArray<string>>) => {
      if (data === "open") setStreaming(true)
      else if (data === "closed") setStreaming(false)
      else if (data === "query") streaming && channel.postMessage("open")
      else onChange(data)
    }
    channel.postMessage("query")
  }
  // Locks exist in secure contexts only; elsewhere every tab has its own stream.
  if (channel && navigator.locks) {
    navigator.locks.request("webhook-trigger-live", { signal: stop.signal }, holdStream).catch(() => undefined)
  } else void holdStream()

  return () => {
    stop.abort()
    clearTimeout(timer)
  }
}
