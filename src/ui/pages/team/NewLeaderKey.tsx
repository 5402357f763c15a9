import { type FormEvent, useState } from "react"
import { api } from "../../api/Client.ts"
import { explain, faultAt } from "../../api/Errors.ts"
import { runAction } from "../../api/Queries.ts"
import type { LeaderKeyWithSecret } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Dialog } from "../../components/Dialog.tsx"
import { TextField } from "../../components/form/TextField.tsx"

export const NewLeaderKey = ({
  team,
  onClose,
  onCreated
}: {
  readonly team: string
  readonly onClose: () => void
  readonly onCreated: (created: LeaderKeyWithSecret) => void
}) => {
  const [name, setName] = useState("")
  const [submitted, setSubmitted] = useState(false)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const fault = name.trim() === "" ? "Enter a name." : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (fault || pending) return
    setPending(true)
    try {
      onCreated(await runAction(() => api.leaderKeys.create({ path: { team }, payload: { name } })))
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  return (
    <Dialog title="New leader key" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onChange={(text) => {
            setName(text)
            setError(undefined)
          }}
          autoFocus
          maxLength={100}
          help="Where the key is used, for example the name of a machine."
          fault={error ? (faultAt(error, "/name") ?? explain(error).title) : submitted ? fault : undefined}
        />
        <div className="row end">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={pending}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
