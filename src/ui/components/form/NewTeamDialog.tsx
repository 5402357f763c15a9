import { type FormEvent, useState } from "react"
import { teamNameAccepts, teamNamePattern } from "../../../domain/TeamName.ts"
import { api } from "../../api/Client.ts"
import { explain, faultAt } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import { sentence } from "../../format/Format.ts"
import { Button } from "../Button.tsx"
import { Dialog } from "../Dialog.tsx"
import { toast } from "../Toasts.tsx"
import { TextField } from "./TextField.tsx"

export const NewTeamDialog = ({
  onClose,
  onCreated
}: {
  readonly onClose: () => void
  readonly onCreated: (team: string) => void
}) => {
  const [name, setName] = useState("")
  const [submitted, setSubmitted] = useState(false)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const fault = teamNamePattern.test(name) ? undefined : sentence(teamNameAccepts)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    // The dialog may be inside another form, which must not be submitted with it.
    event.stopPropagation()
    setSubmitted(true)
    if (fault || pending) return
    setPending(true)
    try {
      const created = await runAction(() => api.teams.create({ payload: { team: name } }))
      await queries.invalidateQueries({ queryKey: ["teams"] })
      toast(`Team ${created.team} created`)
      onCreated(created.team)
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  return (
    <Dialog title="New team" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onChange={(text) => {
            setName(text)
            setError(undefined)
          }}
          autoFocus
          help="A short name such as deploy or support-eu. The team's queue is named after it."
          fault={error ? (faultAt(error, "/team") ?? explain(error).title) : submitted ? fault : undefined}
        />
        <div className="row end">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={pending}>
            Create team
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
