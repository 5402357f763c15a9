import { useSyncExternalStore } from "react"
import { formatDuration, locale } from "./Format.ts"

let now = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const each of listeners) each()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }
}

/** The time in milliseconds, in steps of `step`. All components share one timer. */
const useNow = (step = 1_000): number =>
  useSyncExternalStore(subscribe, () => Math.floor(Math.max(now, Date.now() - 1_000) / step) * step)

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" })
const exact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" })

/** `2 Mar 2026, 13:00:00` */
export const formatTime = (at: string): string => exact.format(new Date(at))

const formatDistance = (ms: number, sign: 1 | -1): string => {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return relative.format(sign * Math.floor(seconds / 10) * 10, "second")
  if (seconds < 3600) return relative.format(sign * Math.floor(seconds / 60), "minute")
  if (seconds < 86_400) return relative.format(sign * Math.floor(seconds / 3600), "hour")
  return relative.format(sign * Math.floor(seconds / 86_400), "day")
}

const formatAge = (ms: number): string => (Math.round(ms / 1000) < 10 ? "just now" : formatDistance(ms, -1))

/** How long ago it was, with the exact time on hover. */
export const RelativeTime = ({ at }: { readonly at: string }) => {
  const time = useNow(5_000)
  return (
    <time dateTime={at} title={formatTime(at)} className="nowrap">
      {formatAge(time - Date.parse(at))}
    </time>
  )
}

/** When the next attempt follows, with the exact time on hover. Nothing once that time has come. */
export const NextAttempt = ({ at }: { readonly at: string }) => {
  const ms = Date.parse(at) - useNow(5_000)
  if (ms <= 0) return null
  return (
    <>
      , next attempt{" "}
      <time dateTime={at} title={formatTime(at)} className="nowrap">
        {formatDistance(Math.max(ms, 10_000), 1)}
      </time>
    </>
  )
}

export const ExactTime = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={at} className="nowrap">
    {formatTime(at)}
  </time>
)

const shortClock = new Intl.DateTimeFormat(locale, { timeStyle: "short" })
const shortExact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" })

/** `14:00`, with the date unless it is today. */
export const formatClock = (at: string): string => {
  const date = new Date(at)
  return (date.toDateString() === new Date().toDateString() ? shortClock : shortExact).format(date)
}

const clock = new Intl.DateTimeFormat(locale, { timeStyle: "medium" })

/** Without the date, if that is the same as of an earlier time. */
export const TimeAfter = ({ at, earlier }: { readonly at: string; readonly earlier: string }) => (
  <time dateTime={at} title={formatTime(at)} className="nowrap">
    {new Date(at).toDateString() === new Date(earlier).toDateString() ? clock.format(new Date(at)) : formatTime(at)}
  </time>
)

/** The elapsed time, updated every second. */
export const ElapsedTime = ({ since }: { readonly since: string }) => (
  <>{formatDuration(useNow() - Date.parse(since))}</>
)
