import { useEffect, useState } from "react"
import type { RunProgress } from "../../api/run/RunEvents.ts"
import { mount } from "../frame/UiPath.ts"

/** What an agent has reported of its work so far. */
export interface Progress {
  readonly text: string
  readonly activity?: string
}

const nothing: Progress = { text: "" }

/** Characters of the text that are kept: its end. */
const kept = 50_000

const after = (progress: Progress, { activity, restart, text = "" }: RunProgress): Progress => {
  const { activity: before, text: textBefore } = restart ? nothing : progress
  const now = activity ?? before
  return { text: (textBefore + text).slice(-kept), ...(now !== undefined && { activity: now }) }
}

/** Follows a run that has not ended, while its page is visible: a browser allows six connections per host. */
export const useProgress = (run_id: string): Progress => {
  const [progress, setProgress] = useState(nothing)
  useEffect(() => {
    let source: EventSource | undefined
    const close = () => {
      source?.close()
      source = undefined
    }
    const open = () => {
      // A new stream begins with everything so far. Later ones of the same `EventSource` continue.
      setProgress(nothing)
      source = new EventSource(`${mount}/api/runs/${run_id}/events`)
      source.addEventListener("progress", ({ data }) => {
        const news = JSON.parse(data) as RunProgress
        setProgress((progress) => after(progress, news))
      })
      for (const end of ["success", "timeout", "cancelled"]) source.addEventListener(end, close)
      // Also the name of the event of a lost connection, which the browser opens again.
      source.addEventListener("error", (event) => "data" in event && close())
    }
    const follow = () => {
      if (document.visibilityState === "hidden") close()
      else if (source === undefined) open()
    }
    follow()
    document.addEventListener("visibilitychange", follow)
    return () => {
      document.removeEventListener("visibilitychange", follow)
      close()
    }
  }, [run_id])
  return progress
}
