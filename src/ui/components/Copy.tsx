import { useEffect, useState } from "react"
import { Button } from "./Button.tsx"

/** The clipboard exists on secure addresses only; the old way works everywhere else. */
const copy = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement("textarea")
    area.value = text
    area.className = "sr"
    document.body.append(area)
    area.select()
    const done = document.execCommand("copy")
    area.remove()
    return done
  }
}

export const Copy = ({ text, what, compact = true }: { text: string; what: string; compact?: boolean }) => {
  const [state, setState] = useState<"idle" | "done" | "failed">("idle")
  useEffect(() => {
    if (state === "idle") return
    const timer = setTimeout(() => setState("idle"), 2_500)
    return () => clearTimeout(timer)
  }, [state])
  return (
    <>
      <Button
        compact={compact}
        look="quiet"
        icon={state === "done" ? "check" : "copy"}
        label={state === "done" ? `Copied ${what}` : `Copy ${what}`}
        onPress={() => void copy(text).then((done) => setState(done ? "done" : "failed"))}
      >
        {state === "done" ? "Copied" : state === "failed" ? "Press Ctrl+C" : "Copy"}
      </Button>
      <span className="sr" role="status">
        {state === "done" ? `Copied ${what}` : ""}
      </span>
    </>
  )
}

/** Text to be taken elsewhere, as it is. */
export const Code = ({ text, title, wrap }: { text: string; title: string; wrap?: boolean }) => (
  <div className={wrap ? "code wrap" : "code"}>
    <div className="code-bar">
      <span>{title}</span>
      <Copy text={text} what={title} />
    </div>
    {/* A region that scrolls must be reachable with the keyboard. */}
    <pre tabIndex={0} role="region" aria-label={title}>
      {text}
    </pre>
  </div>
)
