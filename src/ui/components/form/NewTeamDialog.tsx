import { useState } from "react"
import { teamNameAccepts, teamNamePattern } from "../../../domain/TeamName.ts"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import { sentence } from "../../format/Format.ts"
import { toast } from "../Toasts.tsx"
import { FormDialog, useForm } from "./FormDialog.tsx"
import { TextField } from "./TextField.tsx"

export const NewTeamDialog = ({
  onClose,
  onCreated
}: {
  readonly onClose: () => void
  readonly onCreated: (team: string) => void
}) => {
  const [name, setName] = useState("")
  const form = useForm({
    fault: teamNamePattern.test(name) ? undefined : sentence(teamNameAccepts),
    send: async () => {
      const created = await runAction(() => api.teams.create({ payload: { team: name } }))
      await queries.invalidateQueries({ queryKey: ["teams"] })
      toast(`Team ${created.team} created`)
      onCreated(created.team)
    }
  })
  return (
    <FormDialog title="New team" action="Create team" form={form} onClose={onClose}>
      <TextField
        label="Name"
        value={name}
        onChange={(text) => {
          setName(text)
          form.clearError()
        }}
        autoFocus
        help="A short name such as deploy or support-eu. The team's queue is named after it."
        fault={form.error ? (form.faultAt("/team") ?? explain(form.error).title) : form.fault}
      />
    </FormDialog>
  )
}
