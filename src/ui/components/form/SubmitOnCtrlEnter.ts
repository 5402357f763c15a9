import type { KeyboardEvent } from "react"

/** For forms with multi-line fields, where Enter starts a new line. On a Mac: Command+Enter. */
export const submitOnCtrlEnter = (event: KeyboardEvent<HTMLFormElement>): void => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  event.currentTarget.requestSubmit()
}
