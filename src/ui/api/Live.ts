import type { QueryClient } from "@tanstack/react-query"
import { makeStore } from "../frame/Store.ts"
import { mount } from "../frame/UiPath.ts"
import { type Change, makeChanges } from "./Changes.ts"

/** `live`: the server sends changes. `polling`: the UI polls. `offline`: the server cannot be reached. */
export type LiveStatus = "live" | "polling" | "offline"

let streaming = false
let reachable = true
const status = makeStore<LiveStatus>("polling")
const update = () => status.set(!reachable ? "offline" : streaming ? "live" : "polling")

export const useLiveStatus = status.use

/** Whether the last request reached the server. */
export const setReachable = (value: boolean): void => {
  reachable = value
  update()
}

const setStreaming = (value: boolean): void => {
  streaming = value
  update()
}

/** In milliseconds. Longer while the stream is open, where polling only covers lost notifications. */
export const usePollingInterval = (): number => (useLiveStatus() === "live" ? 30_000 : 4_000)

/** A browser allows six connections per host, so one tab holds the stream and notifies the others. */
const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("webhook-trigger-live")

/** Listens for changes until the returned function is called. */
export const listen = (queries: QueryClient): (() => void) => {
  const changes = makeChanges(queries)
  const stop = new AbortController()
  const stream = () =>
    new Promise<void>((resolve) => {
      const source = new EventSource(`${mount}/api/events`)
      source.onopen = () => {
        setStreaming(true)
        channel?.postMessage("open")
        changes.add("anything")
      }
      source.onerror = () => {
        setStreaming(false)
        channel?.postMessage("closed")
        // The browser reconnects automatically, but not after a response such as 401 or 503.
        if (source.readyState === EventSource.CLOSED) setTimeout(done, 5_000)
      }
      source.addEventListener("change", (event) => {
        const change = JSON.parse(event.data) as Change
        channel?.postMessage(change)
        changes.add(change)
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
    channel.onmessage = ({ data }: MessageEvent<"open" | "closed" | "query" | Change>) => {
      if (data === "open") setStreaming(true)
      else if (data === "closed") setStreaming(false)
      else if (data === "query") streaming && channel.postMessage("open")
      else changes.add(data)
    }
    channel.postMessage("query")
  }
  // Locks exist only in secure contexts; elsewhere every tab has its own stream.
  if (channel && navigator.locks) {
    navigator.locks.request("webhook-trigger-live", { signal: stop.signal }, holdStream).catch(() => undefined)
  } else void holdStream()

  return () => {
    stop.abort()
    changes.stop()
  }
}
