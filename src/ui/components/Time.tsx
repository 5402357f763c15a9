import { useSyncExternalStore } from "react"

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

/** The time in milliseconds, one clock for the whole page; steps of `step` keep it from redrawing every second. */
export const useNow = (step = 1_000): number =>
  useSyncExternalStore(subscribe, () => Math.floor(Math.max(now, Date.now() - 1_000) / step) * step)

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })

const ago = (ms: number): string => {
  const seconds = Math.round(ms / 1000)
  if (seconds < 10) return "just now"
  if (seconds < 60) return relative.format(-Math.floor(seconds / 10) * 10, "second")
  if (seconds < 3600) return relative.format(-Math.floor(seconds / 60), "minute")
  if (seconds < 86_400) return relative.format(-Math.floor(seconds / 3600), "hour")
  return relative.format(-Math.floor(seconds / 86_400), "day")
}

/** How long ago, with the exact time on hover. */
export const Ago = ({ at }: { readonly at: string }) => {
  const time = useNow(5_000)
  return (
    <time dateTime={at} title={exact.format(new Date(at))} className="nowrap">
      {ago(time - Date.parse(at))}
    </time>
  )
}

export const Exact = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={at} className="nowrap">
    {exact.format(new Date(at))}
  </time>
)

/** A length of time as people say it: `840 ms`, `3.2 s`, `4 min 5 s`. */
export const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const seconds = Math.round(ms / 1000)
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  const parts =
    hours > 0 ? [`${hours} h`, minutes > 0 && `${minutes} min`] : [`${minutes} min`, rest > 0 && `${rest} s`]
  return parts.filter(Boolean).join(" ")
}

/** Time that goes on, from then until now. */
export const Since = ({ at }: { readonly at: string }) => <>{duration(useNow() - Date.parse(at))}</>
