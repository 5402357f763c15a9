/** Sensitive actions that wait until the user has signed in again. */
import { makeStore } from "../frame/Store.ts"

const answers = makeStore<ReadonlyArray<(signedIn: boolean) => void>>([])

/** Shows the dialog. Resolves to false if the user closes it. */
export const askForSignIn = (): Promise<boolean> => new Promise((resolve) => answers.set([...answers.get(), resolve]))

export const answerFreshSignIn = (signedIn: boolean): void => {
  const waiting = answers.get()
  answers.set([])
  for (const answer of waiting) answer(signedIn)
}

/** Whether an action waits. */
export const useFreshSignInAsked = (): boolean => answers.use().length > 0
