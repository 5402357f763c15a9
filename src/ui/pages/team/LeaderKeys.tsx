import { useState } from "react"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { runAction, useLeaderKeys } from "../../api/Queries.ts"
import { Button } from "../../components/Button.tsx"
import { FormDialog, useForm } from "../../components/form/FormDialog.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { KeyList, LastUse, type NewKeyProps } from "../../components/KeyList.tsx"
import { UserText } from "../../components/UserText.tsx"
import { ExactTime } from "../../format/Time.tsx"

/** The keys with which leaders get the team's prompts over HTTP. */
export const LeaderKeys = ({ team }: { readonly team: string }) => (
  <KeyList
    what="leader key"
    query={useLeaderKeys(team)}
    queryKey={["leader-keys", team]}
    dialog={(props) => <NewLeaderKey {...props} team={team} />}
    list={{ className: "refused-list", empty: <p className="muted">No leader keys yet.</p> }}
    revoke={(id) => api.leaderKeys.revoke({ path: { team, id } })}
    revoked={(name) => <>Leaders that use {name} get no more prompts, and cannot reply to the prompt that they have.</>}
    entry={({ created_at, hint, id, last_used_at, name }, revoke) => (
      <li key={id} className="refused">
        <div className="row between">
          <strong className="grow">
            <UserText>{name}</UserText>
          </strong>
          {revoke}
        </div>
        <p className="small muted">
          Ends in <span className="mono">{hint}</span>, created <ExactTime at={created_at} />,{" "}
          <LastUse at={last_used_at} />
        </p>
      </li>
    )}
  >
    {(onNew, keys) => (
      <section className="card stack" aria-label="Leader keys">
        <div className="row between">
          <h2>Leader keys</h2>
          <Button compact icon="plus" onPress={onNew}>
            New leader key
          </Button>
        </div>
        <p className="muted small">
          With a key, a leader gets the prompts of this team over HTTP and replies to them, and can do nothing else.
        </p>
        {keys}
      </section>
    )}
  </KeyList>
)

const NewLeaderKey = ({ team, onClose, onCreated }: NewKeyProps & { readonly team: string }) => {
  const [name, setName] = useState("")
  const form = useForm({
    fault: name.trim() === "" ? "Enter a name." : undefined,
    send: async () => {
      const { key, leader_key } = await runAction(() => api.leaderKeys.create({ path: { team }, payload: { name } }))
      onCreated({ name: leader_key.name, secret: key })
    }
  })
  return (
    <FormDialog title="New leader key" action="Create key" form={form} onClose={onClose}>
      <TextField
        label="Name"
        value={name}
        onChange={(text) => {
          setName(text)
          form.clearError()
        }}
        autoFocus
        maxLength={100}
        help="Where the key is used, for example the name of a machine."
        fault={form.error ? (form.faultAt("/name") ?? explain(form.error).title) : form.fault}
      />
    </FormDialog>
  )
}
