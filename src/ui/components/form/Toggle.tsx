import type { ReactNode } from "react"
import { Switch } from "react-aria-components"

/** A switch that takes effect immediately. */
export const Toggle = ({
  on,
  onChange,
  label,
  children
}: {
  readonly on: boolean
  readonly onChange: (on: boolean) => void
  /** The accessible name, when there is no visible text. */
  readonly label?: string
  readonly children?: ReactNode
}) => (
  <Switch className="switch" isSelected={on} onChange={onChange} {...(label ? { "aria-label": label } : {})}>
    <span className="track" />
    {children}
  </Switch>
)
