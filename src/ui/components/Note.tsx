import type { ReactNode } from "react"
import { explain } from "../api/Errors.ts"
import { Button } from "./Button.tsx"
import { Icon } from "./Icon.tsx"

/** Something to know, set apart; an `error` is read out at once. */
export const Note = ({
  kind = "info",
  children
}: {
  readonly kind?: "info" | "error" | "warn" | "good"
  readonly children: ReactNode
}) => (
  <div className={`note ${kind}`} {...(kind === "error" ? { role: "alert" } : {})}>
    <Icon name={kind === "good" ? "check" : kind === "info" ? "info" : "warn"} />
    <div className="grow">{children}</div>
  </div>
)

/** What went wrong, what to do about it, and the way to try again. */
export const Failure = ({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) => {
  const { title, advice } = explain(error)
  return (
    <Note kind="error">
      <div className="row between">
        <div>
          <p>{title}</p>
          {advice && <p className="muted small">{advice}</p>}
        </div>
        {onRetry && (
          <Button compact onPress={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </Note>
  )
}
