/** Sensitive actions that wait until the user has signed in again. */
import { useSyncExternalStore } from "react"

let answers: ReadonlyArray<(signedIn: boolean) => void> = []
const listeners = new Set<() => void>()

const setAnswers = (next: typeof answers): void => {
  answers = next
  for (const listener of listeners) listener()
}

/** Shows the dialog. Resolves to false if the user closes it. */
export const askForSignIn = (): Promise<boolean> => new Promise((resolve) => setAnswers([...answers, resolve]))

export const answerFreshSignIn = (signedIn: boolean): void => {
  const waiting = answers
  setAnswers([])
  for (const answer of waiting) answer(signedIn)
}

/** Whether an action waits. */
export const useFreshSignInAsked = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => answers.length > 0
  )
