import { type FormEvent, useState } from "react"
import { api } from "../api/Client.ts"
import { ApiError, explain } from "../api/Errors.ts"
import { queries } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { Dialog } from "../components/Dialog.tsx"
import { TextField } from "../components/form/TextField.tsx"
import { Notice } from "../components/Notice.tsx"

const SignInForm = () => {
  const [key, setKey] = useState("")
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (key === "" || pending) return
    setPending(true)
    setError(undefined)
    try {
      queries.setQueryData(["session"], await api.session.signIn({ payload: { key: key.trim() } }))
      await queries.invalidateQueries()
    } catch (cause) {
      setError(cause)
    } finally {
      setPending(false)
    }
  }
  const wrongKey = error instanceof ApiError && error.status === 401
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label="API key or admin key"
        type="password"
        value={key}
        onChange={setKey}
        autoFocus
        autoComplete="current-password"
        fault={wrongKey ? error.message : undefined}
        help="Your API key, or the admin key: ADMIN_API_KEY or, if that is not set, the key shown at the server's first start."
      />
      {error !== undefined && !wrongKey && (
        <Notice tone="danger">
          {explain(error).title} {explain(error).advice}
        </Notice>
      )}
      <Button variant="primary" type="submit" pending={pending}>
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

/** Shown if the session ends while the UI is open. Unsaved text remains behind the dialog. */
export const SignInAgain = () => (
  <Dialog title="Your session has ended">
    <p className="muted">Sign in again to continue where you left off. Nothing on this page is lost.</p>
    <SignInForm />
  </Dialog>
)
