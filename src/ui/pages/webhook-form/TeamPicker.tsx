import { useState } from "react"
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
import { useTeams } from "../../api/Queries.ts"
import { Button } from "../../components/Button.tsx"
import { NewTeamDialog } from "../../components/form/NewTeamDialog.tsx"
import { TeamStatus } from "../../components/run/Status.tsx"

/** Selects or creates a team, and shows which teams are running. */
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
  const [creating, setCreating] = useState(false)
  return (
    <div className="stack tight">
      <Select
        className="field"
        value={value === "" ? null : value}
        onChange={(key) => onChange(String(key))}
        isInvalid={fault !== undefined}
        isRequired
        // A list without entries would not open.
        isDisabled={teams.data === undefined}
        allowsEmptyCollection
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
                <TeamStatus team={team} />
              </ListBoxItem>
            )}
          </ListBox>
        </Popover>
      </Select>
      <div>
        <Button needs="teams.create" compact variant="quiet" icon="plus" onPress={() => setCreating(true)}>
          New team
        </Button>
      </div>
      {creating && (
        <NewTeamDialog
          onClose={() => setCreating(false)}
          onCreated={(team) => {
            setCreating(false)
            onChange(team)
          }}
        />
      )}
    </div>
  )
}
