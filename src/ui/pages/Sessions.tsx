import { useState } from "react"
import { personName } from "../../domain/access/PersonName.ts"
import { api } from "../api/Client.ts"
import { queries, runAction, useSessions } from "../api/Queries.ts"
import type { Session } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { ConfirmDialog } from "../components/ConfirmDialog.tsx"
import { Loaded } from "../components/Loaded.tsx"
import { Page } from "../components/Page.tsx"
import { toast } from "../components/Toasts.tsx"
import { UserText } from "../components/UserText.tsx"
import { ExactTime } from "../format/Time.tsx"
import { SettingsSections } from "./SettingsSections.tsx"

/** The signed-in browsers, with buttons to sign them out. */
const SessionsPage = () => {
  const sessions = useSessions()
  const [ending, setEnding] = useState<Session | "all">()
  const end = async () => {
    if (ending === undefined) return
    await runAction(() => (ending === "all" ? api.sessions.endAll({}) : api.sessions.end({ path: { id: ending.id } })))
    setEnding(undefined)
    // This page's own session has ended too.
    if (ending === "all" || ending.is_current) return queries.invalidateQueries()
    await queries.invalidateQueries({ queryKey: ["sessions"] })
    toast("Session ended")
  }
  return (
    <Page
      title="Sessions"
      actions={
        <Button variant="danger" onPress={() => setEnding("all")}>
          End all sessions
        </Button>
      }
    >
      <SettingsSections current="sessions" />
      <p className="muted small">
        Browsers that are signed in. A session ends after 12 hours of inactivity, or after 7 days. Single sign-on
        sessions can end earlier.
      </p>
      <Loaded query={sessions}>
        {(data) => (
          <ul className="card audit" aria-label="Sessions, most recently used first">
            {data.map((session) => (
              <Entry key={session.id} session={session} onEnd={() => setEnding(session)} />
            ))}
          </ul>
        )}
      </Loaded>
      {ending !== undefined && (
        <ConfirmDialog
          title={ending === "all" ? "End all sessions?" : "End this session?"}
          action={ending === "all" ? "End all" : "End session"}
          onConfirm={end}
          onClose={() => setEnding(undefined)}
        >
          <p>
            {ending === "all"
              ? "Every browser, including this one, must sign in again."
              : ending.is_current
                ? "This is your browser's session. You must sign in again."
                : ending.oauth_client === undefined
                  ? `The browser at ${ending.client_address} must sign in again.`
                  : "The access token is no longer accepted. The person must sign in again."}
          </p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

const Identity = ({ session: { key_name, person } }: { readonly session: Session }) => {
  if (person !== undefined) {
    return (
      <>
        <UserText>{personName(person)}</UserText>
        {person.email !== undefined && person.email !== personName(person) && (
          <>
            {" "}
            (<UserText>{person.email}</UserText>)
          </>
        )}
        , {person.role}
        {person.teams !== undefined && ` of ${person.teams.join(", ")}`}
      </>
    )
  }
  if (key_name === undefined) return "Admin key"
  return (
    <>
      API key <UserText>{key_name}</UserText>
    </>
  )
}

const Entry = ({ session, onEnd }: { readonly session: Session; readonly onEnd: () => void }) => (
  <li className="audit-event">
    <div className="row between">
      <span className="row">
        <strong>{session.client_address}</strong>
        {session.is_current && <span className="badge info">This browser</span>}
      </span>
      <Button compact variant="quiet" label={`End the session of ${session.client_address}`} onPress={onEnd}>
        End
      </Button>
    </div>
    <p className="small muted">
      <Identity session={session} />. Signed in <ExactTime at={session.created_at} />, last used{" "}
      <ExactTime at={session.last_used_at} />
    </p>
    {session.oauth_client !== undefined && (
      <p className="small muted">
        Access token of the OAuth client <UserText>{session.oauth_client}</UserText>, for AI assistants
      </p>
    )}
    {session.user_agent !== "" && (
      <p className="small muted">
        <UserText>{session.user_agent}</UserText>
      </p>
    )}
  </li>
)

export default SessionsPage
