import type { ReactNode, PointerEvent as ReactPointerEvent } from "react"
import { Button as AriaButton, Tooltip, TooltipTrigger } from "react-aria-components"
import { Link } from "wouter"
import { type Needs, useMay } from "../api/Access.ts"
import { Icon, type IconName } from "./Icon.tsx"

interface Appearance {
  /** `primary` for a page's main action, `quiet` for minor ones. */
  readonly variant?: "primary" | "quiet" | "danger" | "danger primary"
  readonly compact?: boolean
  readonly icon?: IconName
  /** The endpoint that it is for: the button is missing for those who may not call it. */
  readonly needs?: Needs
  readonly children?: ReactNode
}

const className = ({ variant, compact, icon, children }: Appearance) =>
  ["button", variant, compact && "compact", icon && !children && "icon"].filter(Boolean).join(" ")

/**
 * While `pending`, the button keeps the focus and ignores presses; its form must check the flag too. (React Aria's
 * `isPending` announces a reference to the button, which dangles once the button is gone.)
 */
export const Button = ({
  onPress,
  type,
  disabled,
  pending,
  label,
  needs,
  ...appearance
}: Appearance & {
  readonly onPress?: () => void
  readonly type?: "submit"
  readonly disabled?: boolean
  readonly pending?: boolean
  /** The accessible name, if the text is missing or too short. */
  readonly label?: string
}) => {
  const may = useMay()
  const button = (
    <AriaButton
      className={className(appearance)}
      {...(onPress && !pending ? { onPress } : {})}
      {...(type ? { type } : {})}
      {...(label ? { "aria-label": label } : {})}
      isDisabled={disabled ?? false}
      onPointerDown={completePress}
    >
      {pending ? <Icon name="spinner" /> : appearance.icon && <Icon name={appearance.icon} />}
      {appearance.children}
    </AriaButton>
  )
  if (needs !== undefined && !may(needs)) return null
  // An icon alone needs a tooltip.
  if (!label || appearance.children) return button
  return (
    <TooltipTrigger delay={300} closeDelay={0}>
      {button}
      <Tooltip className="tooltip" offset={6}>
        {label}
      </Tooltip>
    </TooltipTrigger>
  )
}

export const LinkButton = ({ to, needs, ...appearance }: Appearance & { readonly to: string }) => {
  const may = useMay()
  if (needs !== undefined && !may(needs)) return null
  return (
    <Link to={to} className={className(appearance)}>
      {appearance.icon && <Icon name={appearance.icon} />}
      {appearance.children}
    </Link>
  )
}

/** How far the mouse may move during a click, in pixels. */
const tremor = 4

/**
 * Completes a click if the button moves away between press and release, because something appeared or vanished above it.
 * The browser would cancel the click. (A touch is different: the browser clicks the element under the finger at its end.)
 */
const completePress = (down: ReactPointerEvent<HTMLElement>): void => {
  if (down.button !== 0 || down.pointerType !== "mouse") return
  const button = down.currentTarget
  const { clientX, clientY } = down
  const ended = new AbortController()
  const end = (event: PointerEvent) => {
    ended.abort()
    const { clientX: x, clientY: y } = event
    if (event.type === "pointercancel" || Math.hypot(x - clientX, y - clientY) > tremor) return
    const { bottom, left, right, top } = button.getBoundingClientRect()
    const isUnderMouse = left <= x && x <= right && top <= y && y <= bottom
    if (!isUnderMouse) button.click()
  }
  // On the window, because React Aria handles the event on the document first.
  for (const type of ["pointerup", "pointercancel"] as const) {
    window.addEventListener(type, end, { signal: ended.signal })
  }
}
