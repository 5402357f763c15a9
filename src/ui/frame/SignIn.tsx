import { type FormEvent, useState } from "react"
import { api } from "../api/Client.ts"
import { ApiError, explain } from "../api/Errors.ts"
import { queries } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { Over } from "../components/Confirm.tsx"
import { Field } from "../components/Field.tsx"
import { Note } from "../components/Note.tsx"

const SignInForm = () => {
  const [key, setKey] = useState("")
  const [pending, setPending] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (key === "" || pending) return
    setPending(true)
    setFailure(undefined)
    try {
      queries.setQueryData(["session"], await api.session.signIn({ payload: { key: key.trim() } }))
      await queries.invalidateQueries()
    } catch (error) {
      setFailure(error)
    } finally {
      setPending(false)
    }
  }
  const wrong = failure instanceof ApiError && failure.status === 401
  return (
    <form className="stack" onSubmit={submit}>
      <Field
        label="Admin key"
        type="password"
        value={key}
        onChange={setKey}
        autoFocus
        autoComplete="current-password"
        fault={wrong ? "This is not the admin key." : undefined}
        help="The value of ADMIN_API_KEY; without one, the key that the first start has shown."
      />
      {failure !== undefined && !wrong && (
        <Note kind="error">
          {explain(failure).title} {explain(failure).advice}
        </Note>
      )}
      <Button look="primary" type="submit" pending={pending}>
        Sign in
      </Button>
    </form>
  )
}

export const SignIn = () => (
  <main className="sign-in">
    <div className="card stack">
      <div className="brand">
        <img src="/icon.svg" alt="" />
        <h1>Webhook Trigger</h1>
      </div>
      <SignInForm />
    </div>
  </main>
)

/** The session has ended while somebody was at work: what they wrote stays behind the dialog. */
export const SignInAgain = () => (
  <Over title="Your session has ended">
    <p className="muted">Sign in again to go on where you were. Nothing on this page is lost.</p>
    <SignInForm />
  </Over>
)
