import { type FormEvent, useState } from "react"
import {
  Button as AriaButton,
  FieldError,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue
} from "react-aria-components"
import { api } from "../api/Client.ts"
import { explain, faultAt } from "../api/Errors.ts"
import { act, queries, useTeams } from "../api/Queries.ts"
import { Button } from "./Button.tsx"
import { Over } from "./Confirm.tsx"
import { Field } from "./Field.tsx"
import { Running } from "./Status.tsx"
import { say } from "./Toasts.tsx"

/** Chooses a team and shows which ones are running; a new one can be made on the spot. */
export const TeamPicker = ({
  value,
  onChange,
  fault
}: {
  readonly value: string
  readonly onChange: (team: string) => void
  readonly fault?: string | undefined
}) => {
  const teams = useTeams()
  const [making, setMaking] = useState(false)
  return (
    <div className="stack tight">
      <Select
        className="field"
        value={value === "" ? null : value}
        onChange={(key) => onChange(String(key))}
        isInvalid={fault !== undefined}
        isRequired
        validationBehavior="aria"
        placeholder="Choose a team"
      >
        <Label className="label">Team</Label>
        <AriaButton className="input picker">
          <SelectValue />
        </AriaButton>
        <FieldError className="fault">{fault}</FieldError>
        <Popover className="popover">
          <ListBox
            items={teams.data ?? []}
            className="options"
            renderEmptyState={() => <p className="muted">No teams yet</p>}
          >
            {(team) => (
              <ListBoxItem id={team.team} textValue={team.team} className="option">
                <span className="grow">{team.team}</span>
                <Running team={team} />
              </ListBoxItem>
            )}
          </ListBox>
        </Popover>
      </Select>
      <div>
        <Button compact look="quiet" icon="plus" onPress={() => setMaking(true)}>
          New team
        </Button>
      </div>
      {making && (
        <NewTeam
          onClose={() => setMaking(false)}
          onMade={(team) => {
            setMaking(false)
            onChange(team)
          }}
        />
      )}
    </div>
  )
}

/** What keeps a name from being a team's; the same rule as the server's. */
const nameFault = (name: string): string | undefined =>
  /^[a-z0-9][a-z0-9-]{0,62}$/.test(name)
    ? undefined
    : "Lower-case letters, digits and hyphens, starting with a letter or digit, 63 at most."

export const NewTeam = ({
  onClose,
  onMade
}: {
  readonly onClose: () => void
  readonly onMade: (team: string) => void
}) => {
  const [name, setName] = useState("")
  const [tried, setTried] = useState(false)
  const [pending, setPending] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const fault = nameFault(name)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    // The dialog may stand inside another form, which must not be sent with it.
    event.stopPropagation()
    setTried(true)
    if (fault || pending) return
    setPending(true)
    try {
      const made = await act(api.teams.create({ payload: { team: name } }))
      await queries.invalidateQueries({ queryKey: ["teams"] })
      say(`Team ${made.team} is there`)
      onMade(made.team)
    } catch (error) {
      setFailure(error)
      setPending(false)
    }
  }
  return (
    <Over title="New team" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field
          label="Name"
          value={name}
          onChange={(text) => {
            setName(text)
            setFailure(undefined)
          }}
          autoFocus
          help="A short name such as deploy or support-eu; the team's queue is called after it."
          fault={failure ? (faultAt(failure, "/team") ?? explain(failure).title) : tried ? fault : undefined}
        />
        <div className="row end">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" look="primary" pending={pending}>
            Create team
          </Button>
        </div>
      </form>
    </Over>
  )
}
