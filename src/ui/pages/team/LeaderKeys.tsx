import { useState } from "react"
import { api } from "../../api/Client.ts"
import { queries, runAction, useLeaderKeys } from "../../api/Queries.ts"
import type { LeaderKey, LeaderKeyWithSecret } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { ShownKey } from "../../components/ShownKey.tsx"
import { toast } from "../../components/Toasts.tsx"
import { UnsavedKey } from "../../components/UnsavedKey.tsx"
import { UserText } from "../../components/UserText.tsx"
import { ExactTime, RelativeTime } from "../../format/Time.tsx"
import { releaseNavigation, useNavigationGuard } from "../../frame/NavigationGuard.ts"
import { NewLeaderKey } from "./NewLeaderKey.tsx"

/** The keys with which leaders get the team's prompts over HTTP. New ones are shown until the user has saved them. */
export const LeaderKeys = ({ team }: { readonly team: string }) => {
  const keys = useLeaderKeys(team)
  const [creating, setCreating] = useState(false)
  const [shown, setShown] = useState<ReadonlyArray<LeaderKeyWithSecret>>([])
  const [revoking, setRevoking] = useState<LeaderKey>()
  const leaving = useNavigationGuard(shown.length > 0)
  const refresh = () => queries.invalidateQueries({ queryKey: ["leader-keys", team] })
  const hide = async (key: LeaderKeyWithSecret) => {
    const others = shown.filter((each) => each !== key)
    if (others.length === 0) await releaseNavigation()
    setShown(others)
  }
  const revoke = async ({ id, name }: LeaderKey) => {
    await runAction(() => api.leaderKeys.revoke({ path: { team, id } }))
    setRevoking(undefined)
    await refresh()
    toast(`Leader key ${name} revoked`)
  }
  return (
    <section className="card stack" aria-label="Leader keys">
      <div className="row between">
        <h2>Leader keys</h2>
        <Button compact icon="plus" onPress={() => setCreating(true)}>
          New leader key
        </Button>
      </div>
      <p className="muted small">
        With a key, a leader gets the prompts of this team over HTTP and replies to them, and can do nothing else.
      </p>
      {shown.map((key) => (
        <ShownKey
          key={key.leader_key.id}
          name={key.leader_key.name}
          secret={key.key}
          what="the leader key"
          onClose={() => void hide(key)}
        />
      ))}
      <Loaded query={keys}>
        {(data) =>
          data.length === 0 ? (
            <p className="muted">No leader keys yet.</p>
          ) : (
            <ul className="refused-list" aria-label="Leader keys, oldest first">
              {data.map((key) => (
                <Entry key={key.id} leaderKey={key} onRevoke={() => setRevoking(key)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {creating && (
        <NewLeaderKey
          team={team}
          onClose={() => setCreating(false)}
          onCreated={async (created) => {
            setShown([...shown, created])
            setCreating(false)
            await refresh()
          }}
        />
      )}
      {revoking !== undefined && (
        <ConfirmDialog
          title="Revoke this leader key?"
          action="Revoke"
          onConfirm={() => revoke(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          <p>
            Leaders that use{" "}
            <strong>
              <UserText>{revoking.name}</UserText>
            </strong>{" "}
            get no more prompts, and cannot reply to the prompt that they have.
          </p>
        </ConfirmDialog>
      )}
      {leaving && <UnsavedKey cancel={leaving.cancel} confirm={leaving.confirm} />}
    </section>
  )
}

const Entry = ({
  leaderKey: { created_at, hint, last_used_at, name },
  onRevoke
}: {
  readonly leaderKey: LeaderKey
  readonly onRevoke: () => void
}) => (
  <li className="refused">
    <div className="row between">
      <strong className="grow">
        <UserText>{name}</UserText>
      </strong>
      <Button compact variant="danger" label={`Revoke ${name}, which ends in ${hint}`} onPress={onRevoke}>
        Revoke
      </Button>
    </div>
    <p className="small muted">
      Ends in <span className="mono">{hint}</span>, created <ExactTime at={created_at} />,{" "}
      {last_used_at === undefined ? (
        "never used"
      ) : (
        <>
          last used <RelativeTime at={last_used_at} />
        </>
      )}
    </p>
  </li>
)
