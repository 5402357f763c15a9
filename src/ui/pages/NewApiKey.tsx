import { useState } from "react"
import { type Role, roleNames, roles } from "../../domain/access/Roles.ts"
import { api } from "../api/Client.ts"
import { explain } from "../api/Errors.ts"
import { runAction, useWebhooks } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { FormDialog, useForm } from "../components/form/FormDialog.tsx"
import { SearchableSelect } from "../components/form/SearchableSelect.tsx"
import { SelectField } from "../components/form/SelectField.tsx"
import { TextField } from "../components/form/TextField.tsx"
import type { NewKeyProps } from "../components/KeyList.tsx"
import { Notice } from "../components/Notice.tsx"
import { UserText } from "../components/UserText.tsx"

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

/** The JSON Pointers of a list and its items. */
const pointersOf = (name: string, items: ReadonlyArray<string>): ReadonlyArray<string> => [
  `/${name}`,
  ...items.map((_, index) => `/${name}/${index}`)
]

export const NewApiKey = ({ onClose, onCreated }: NewKeyProps) => {
  const [name, setName] = useState("")
  const [role, setRole] = useState<Role>("viewer")
  const [teamText, setTeamText] = useState("")
  const [webhooks, setWebhooks] = useState<ReadonlyArray<string>>([])
  const [lifetime, setLifetime] = useState<Lifetime>("never")
  const teams = teamsOf(teamText)
  const form = useForm({
    fault: name.trim() === "" ? "Enter a name." : undefined,
    send: async () => {
      const payload = {
        ...{ name, role, ...(teams.length > 0 && { teams }), ...expiryOf(lifetime) },
        ...(role === "caller" && webhooks.length > 0 && { webhooks })
      }
      const { api_key, key } = await runAction(() => api.apiKeys.create({ payload: payload as never }))
      onCreated({ name: api_key.name, secret: key })
    }
  })
  const nameFault = form.error ? form.faultAt("/name") : form.fault
  const teamFault = form.faultAt(...pointersOf("teams", teams))
  const webhookFault = form.faultAt(...pointersOf("webhooks", webhooks))
  return (
    <FormDialog title="New API key" action="Create key" form={form} onClose={onClose}>
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
        value={teamText}
        onChange={setTeamText}
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
      {form.error !== undefined && !teamFault && !webhookFault && !nameFault && (
        <Notice tone="danger">{explain(form.error).title}</Notice>
      )}
    </FormDialog>
  )
}

/** As in `ApiKeyDraft`. */
const mostWebhooks = 20

/** The webhooks that a key is limited to. None selected: all webhooks of its teams. */
const WebhookLimit = ({
  chosen,
  onChange,
  fault
}: {
  readonly chosen: ReadonlyArray<string>
  readonly onChange: (chosen: ReadonlyArray<string>) => void
  readonly fault?: string | undefined
}) => {
  const webhooks = useWebhooks().data ?? []
  const nameOf = (id: string) => webhooks.find((webhook) => webhook.id === id)?.name ?? id
  const others = webhooks.filter(({ id }) => !chosen.includes(id)).map(({ id, name }) => [id, name] as const)
  return (
    <>
      {chosen.length < mostWebhooks && (
        <SearchableSelect
          label="Webhooks"
          value=""
          onChange={(id) => id !== "" && onChange([...chosen, id])}
          options={[["", chosen.length === 0 ? "All webhooks" : "Add a webhook"], ...others]}
          fault={fault}
        />
      )}
      {chosen.length > 0 && (
        <ul className="stack tight" aria-label="Selected webhooks">
          {chosen.map((id) => (
            <li key={id} className="row between">
              <UserText>{nameOf(id)}</UserText>
              <Button
                compact
                label={`Remove ${nameOf(id)}`}
                onPress={() => onChange(chosen.filter((each) => each !== id))}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
