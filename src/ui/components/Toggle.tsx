import type { ReactNode } from "react"
import { Switch } from "react-aria-components"

/** On or off, at once. */
export const Toggle = ({
  on,
  onChange,
  label,
  disabled,
  children
}: {
  readonly on: boolean
  readonly onChange: (on: boolean) => void
  /** The name, when no text stands beside it. */
  readonly label?: string
  readonly disabled?: boolean
  readonly children?: ReactNode
}) => (
  <Switch
    className="switch"
    isSelected={on}
    onChange={onChange}
    isDisabled={disabled ?? false}
    {...(label ? { "aria-label": label } : {})}
  >
    <span className="track" />
    {children}
  </Switch>
)
