import type { KeyboardEvent } from "react"

/** For a form with fields of several lines, where Enter alone starts a new line; on a Mac it is the Command key. */
export const submitOnCtrlEnter = (event: KeyboardEvent<HTMLFormElement>): void => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  event.currentTarget.requestSubmit()
}
