import type { ReactNode } from "react"
import { Button as AriaButton } from "react-aria-components"
import { Link } from "wouter"
import { Icon, type IconName } from "./Icon.tsx"

interface Look {
  /** `primary` for the one thing a page is about, `quiet` for what should not ask for attention. */
  readonly look?: "primary" | "quiet" | "danger" | "danger primary"
  readonly compact?: boolean
  readonly icon?: IconName
  readonly children?: ReactNode
}

const className = ({ look, compact, icon, children }: Look) =>
  ["button", look, compact && "compact", icon && !children && "icon"].filter(Boolean).join(" ")

/**
 * While `pending` the button keeps the focus and takes no second press. A form that it submits looks at the same flag.
 * (React Aria's own `isPending` announces a reference to the button, which dangles once the button is gone.)
 */
export const Button = ({
  onPress,
  type,
  disabled,
  pending,
  label,
  ...look
}: Look & {
  readonly onPress?: () => void
  readonly type?: "submit"
  readonly disabled?: boolean
  readonly pending?: boolean
  /** The name, where an icon stands alone or the text needs more words. */
  readonly label?: string
}) => (
  <AriaButton
    className={className(look)}
    {...(onPress && !pending ? { onPress } : {})}
    {...(type ? { type } : {})}
    {...(label ? { "aria-label": label } : {})}
    isDisabled={disabled ?? false}
  >
    {pending ? <Icon name="spin" spin /> : look.icon && <Icon name={look.icon} />}
    {look.children}
  </AriaButton>
)

export const LinkButton = ({ to, label, ...look }: Look & { readonly to: string; readonly label?: string }) => (
  <Link to={to} className={className(look)} aria-label={label}>
    {look.icon && <Icon name={look.icon} />}
    {look.children}
  </Link>
)
