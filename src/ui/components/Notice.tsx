import type { ReactNode } from "react"
import { explain } from "../api/Errors.ts"
import { Button } from "./Button.tsx"
import { Icon, type IconName } from "./Icon.tsx"
import { withCode } from "./WithCode.tsx"

type NoticeTone = Extract<Tone, "neutral" | "warning" | "danger">

const icons: Record<NoticeTone, IconName> = { neutral: "info", warning: "warning", danger: "warning" }

/** A highlighted message; screen readers announce a `danger` one immediately. */
export const Notice = ({
  tone = "neutral",
  children
}: {
  readonly tone?: NoticeTone
  readonly children: ReactNode
}) => (
  <div className={`notice ${tone}`} {...(tone === "danger" ? { role: "alert" } : {})}>
    <Icon name={icons[tone]} />
    <div className="grow">{children}</div>
  </div>
)

/** An error with advice and a button to try again. */
export const ErrorNotice = ({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) => {
  const { title, advice } = explain(error)
  return (
    <Notice tone="danger">
      <div className="row between">
        <div>
          <p>{withCode(title)}</p>
          {advice && <p className="muted small">{advice}</p>}
        </div>
        {onRetry && (
          <Button compact onPress={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </Notice>
  )
}

/** The meaning of a colour. Each has a pair of colours in `design/tokens.css`. */
export type Tone = "success" | "danger" | "warning" | "info" | "neutral"
