import { useEffect, useState } from "react"
import { Button } from "./Button.tsx"

/** The clipboard API exists only in secure contexts; `execCommand` works everywhere else. */
const copy = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement("textarea")
    area.value = text
    area.className = "sr-only"
    document.body.append(area)
    area.select()
    const copied = document.execCommand("copy")
    area.remove()
    return copied
  }
}

export const CopyButton = ({
  text,
  what,
  caption = "Copy",
  compact = true
}: {
  readonly text: string
  /** The name of the text, as in `Copy the token`. */
  readonly what: string
  readonly caption?: string
  readonly compact?: boolean
}) => {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle")
  useEffect(() => {
    if (state === "idle") return
    const timer = setTimeout(() => setState("idle"), 2_500)
    return () => clearTimeout(timer)
  }, [state])
  return (
    <>
      <Button
        compact={compact}
        variant="quiet"
        icon={state === "copied" ? "check" : "copy"}
        label={state === "copied" ? `Copied ${what}` : `Copy ${what}`}
        onPress={() => void copy(text).then((copied) => setState(copied ? "copied" : "failed"))}
      >
        {state === "copied" ? "Copied" : state === "failed" ? "Press Ctrl+C" : caption}
      </Button>
      <span className="sr-only" role="status">
        {state === "copied" ? `Copied ${what}` : ""}
      </span>
    </>
  )
}
