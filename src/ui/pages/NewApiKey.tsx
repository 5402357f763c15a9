import { type FormEvent, useState } from "react"
import { type Role, roleNames, roles } from "../../domain/access/Roles.ts"
import { api } from "../api/Client.ts"
import { explain, faultAt } from "../api/Errors.ts"
import { runAction } from "../api/Queries.ts"
import type { ApiKeyWithSecret } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { Dialog } from "../components/Dialog.tsx"
import { SelectField } from "../components/form/SelectField.tsx"
import { TextField } from "../components/form/TextField.tsx"
import { Notice } from "../components/Notice.tsx"
import { WebhookLimit } from "./WebhookLimit.tsx"

const day = 24 * 3_600_000

const lifetimes = [
  ["never", "Never", undefined],
  ["30", "In 30 days", 30 * day],
  ["90", "In 90 days", 90 * day],
  ["365", "In a year", 365 * day]
] as const
type Lifetime = (typeof lifetimes)[number][0]

const expiryOf = (lifetime: Lifetime) => {
  const length = lifetimes.find(([each]) => each === lifetime)?.[2]
  return length === undefined ? {} : { expires_at: new Date(Date.now() + length).toISOString() }
}

const teamsOf = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((team) => team !== "")

export const NewApiKey = ({
  onClose,
  onCreated
}: {
  readonly onClose: () => void
  readonly onCreated: (created: ApiKeyWithSecret) => void
}) => {
  const [name, setName] = useState("")
  const [role, setRole] = useState<Role>("viewer")
  const [teams, setTeams] = useState("")
  const [webhooks, setWebhooks] = useState<ReadonlyArray<string>>([])
  const [lifetime, setLifetime] = useState<Lifetime>("never")
  const [submitted, setSubmitted] = useState(false)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const fault = name.trim() === "" ? "Enter a name." : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (fault || pending) return
    setPending(true)
    setError(undefined)
    const limit = teamsOf(teams)
    const payload = {
      ...{ name, role, ...(limit.length > 0 && { teams: limit }), ...expiryOf(lifetime) },
      ...(role === "caller" && webhooks.length > 0 && { webhooks })
    }
    try {
      onCreated(await runAction(() => api.apiKeys.create({ payload: payload as never })))
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  const teamFault = ["/teams", ...teamsOf(teams).map((_, index) => `/teams/${index}`)]
    .map((pointer) => (error === undefined ? undefined : faultAt(error, pointer)))
    .find((found) => found !== undefined)
  const webhookFault = ["/webhooks", ...webhooks.map((_, index) => `/webhooks/${index}`)]
    .map((pointer) => (error === undefined ? undefined : faultAt(error, pointer)))
    .find((found) => found !== undefined)
  const nameFault = error ? faultAt(error, "/name") : submitted ? fault : undefined
  return (
    <Dialog title="New API key" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          autoFocus
          maxLength={100}
          help="Who or what uses the key. The audit log shows it."
          fault={nameFault}
        />
        <SelectField label="Role" value={role} onChange={setRole} options={roleNames.map((each) => [each, each])} />
        <p className="small muted">This role {roles[role].description}.</p>
        <TextField
          label="Teams"
          value={teams}
          onChange={setTeams}
          help="Limits the key to these teams, separated by commas. Empty: all teams."
          fault={teamFault}
        />
        {role === "caller" && <WebhookLimit chosen={webhooks} onChange={setWebhooks} fault={webhookFault} />}
        <SelectField
          label="Expires"
          value={lifetime}
          onChange={setLifetime}
          options={lifetimes.map(([each, label]) => [each, label] as const)}
        />
        {error !== undefined && !teamFault && !webhookFault && !nameFault && (
          <Notice tone="danger">{explain(error).title}</Notice>
        )}
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
