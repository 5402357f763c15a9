import { Link } from "wouter"
import { auditExports } from "../../api/ExportPaths.ts"
import { pathTo } from "../../api/Pages.ts"
import { auditActions } from "../../domain/access/AuditActions.ts"
import { titleOf } from "../../domain/run/RunTitle.ts"
import { type WebhookSettingName, webhookSettings } from "../../domain/webhook/WebhookSettings.ts"
import { useAllRuns, useAudit, useWebhooks } from "../api/Queries.ts"
import type { AuditAction, AuditActor, AuditEvent } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { DownloadLink } from "../components/DownloadLink.tsx"
import { boundOf, DateField, dayOf } from "../components/form/DateField.tsx"
import { SelectField } from "../components/form/SelectField.tsx"
import { Loaded } from "../components/Loaded.tsx"
import { Page } from "../components/Page.tsx"
import { PageButtons } from "../components/PageButtons.tsx"
import { showDirectionMarks, UserText } from "../components/UserText.tsx"
import { plural } from "../format/Format.ts"
import { ExactTime, RelativeTime } from "../format/Time.tsx"
import { useUrlFilters } from "../frame/UrlFilters.ts"
import { SettingsSections } from "./SettingsSections.tsx"

/** The actions with other words than their own. */
const inOtherWords: { readonly [Action in AuditAction]?: string } = {
  "team.leader_key_created": "Leader key created",
  "team.leader_key_revoked": "Leader key revoked",
  "thread.reset": "Conversation reset",
  "webhook.run_started": "Run started manually",
  "webhook.queue_cancelled": "Queued runs of a webhook cancelled",
  "team.queue_cancelled": "Queued runs of a team cancelled",
  "delivery.resent": "Deliveries resent",
  "run.decision_refused": "Approval or denial refused",
  "run.replied": "Reply sent",
  "session.started": "Signed in",
  "api_key.created": "API key created",
  "api_key.revoked": "API key revoked",
  "audit.exported": "Audit events exported",
  "key.refused": "Wrong key",
  "sign_in.refused": "Sign-in refused"
}

/** In words: "Webhook edited". */
const wordsOf = (action: AuditAction): string =>
  inOtherWords[action] ?? action[0]!.toUpperCase() + action.slice(1).replaceAll(/[._]/g, " ")

const actors: Record<AuditActor, string> = {
  admin_key: "the admin key",
  api_key: "an API key",
  session: "the web UI",
  host: "this server",
  automatic: "the server, automatically",
  unknown: "someone unknown"
}

/** Audit events. The filters and the page are in the address. */
const AuditPage = () => {
  const filters = useUrlFilters()
  const action = auditActions.find((each) => each === filters.get("action"))
  const [object, cursor] = [filters.get("object"), filters.get("cursor")]
  const [from, to] = [boundOf(filters.get("from")), boundOf(filters.get("to"), 1)]
  const filter = {
    ...(action && { action }),
    ...(object && { object }),
    ...(from && { from }),
    ...(to && { to })
  }
  const events = useAudit({ ...filter, ...(cursor && { cursor }) })
  const exported = new URLSearchParams(filter)
  const setFilters = (values: Record<string, string>) => filters.set({ ...values, cursor: "" })
  return (
    <Page
      title="Audit"
      actions={
        <>
          <DownloadLink href={`${auditExports.csv}?${exported}`}>Export CSV</DownloadLink>
          <DownloadLink href={`${auditExports.jsonl}?${exported}`}>Export JSON Lines</DownloadLink>
        </>
      }
    >
      <SettingsSections current="audit" />
      <search className="filters">
        <SelectField
          label="Action"
          value={action ?? ""}
          onChange={(value) => setFilters({ action: value })}
          options={[["", "All actions"], ...auditActions.map((each) => [each, wordsOf(each)] as const)]}
        />
        <DateField label="From" value={dayOf(filters.get("from"))} onChange={(value) => setFilters({ from: value })} />
        <DateField label="To" value={dayOf(filters.get("to"))} onChange={(value) => setFilters({ to: value })} />
        {Object.keys(filter).length > 0 && (
          <Button variant="quiet" onPress={() => setFilters({ action: "", object: "", from: "", to: "" })}>
            Show all
          </Button>
        )}
      </search>
      <Loaded query={events}>
        {({ data, next_cursor }) => (
          <div className="stack" aria-busy={events.isPlaceholderData}>
            {data.length === 0 ? (
              <div className="card empty">
                <p>No events.</p>
              </div>
            ) : (
              <ul className="card audit" aria-label="Events, newest first">
                {data.map((event) => (
                  <Event key={event.id} event={event} onSelect={(id) => setFilters({ object: id })} />
                ))}
              </ul>
            )}
            <PageButtons
              label="Pages of events"
              cursor={cursor}
              next={next_cursor}
              onChange={(cursor) => filters.set({ cursor })}
            />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

/** One line in words, with who did it, and when. */
const Event = ({ event, onSelect }: { readonly event: AuditEvent; readonly onSelect: (object: string) => void }) => (
  <li className="audit-line">
    <span className="grow">
      <strong>{wordsOf(event.action)}</strong> <Subject event={event} />
      {event.attempts !== undefined && <span className="muted"> {plural(event.attempts, "attempt")}</span>}
      <ChangesInShort event={event} />
    </span>
    <span className="small muted">
      by <Who event={event} />, <RelativeTime at={event.at} />
    </span>
    <details className="small">
      <summary>Details</summary>
      <div className="stack tight">
        <p className="row muted">
          <ExactTime at={event.at} />
          {event.client_address !== undefined && <span>from {event.client_address}</span>}
          {event.session_id !== undefined && <span className="mono run-id">session {event.session_id}</span>}
          {event.object !== undefined && (
            <Button compact variant="quiet" onPress={() => onSelect(event.object!)}>
              Show related events
            </Button>
          )}
        </p>
        <Changes event={event} />
      </div>
    </details>
  </li>
)

/** The person or the key; else what acted. */
const Who = ({ event: { actor, key_name, person_name } }: { readonly event: AuditEvent }) => {
  if (person_name !== undefined) return <UserText>{person_name}</UserText>
  if (key_name === undefined) return actors[actor]
  return (
    <>
      key <UserText>{key_name}</UserText>
      {actor === "session" && " in the web UI"}
    </>
  )
}

/** More fields, and longer values, are shown on request. */
const mostInShort = 2
const longestInShort = 60

/** The changes of an edit that has few of them. */
const ChangesInShort = ({ event: { action, after = {}, before = {} } }: { readonly event: AuditEvent }) => {
  const changes = Object.keys({ ...before, ...after }).map((name) => ({
    label: name in webhookSettings ? webhookSettings[name as WebhookSettingName].label : name.replaceAll("_", " "),
    from: textOf(before[name] ?? "none"),
    to: textOf(after[name] ?? "none")
  }))
  if (!action.endsWith(".edited") || changes.length > mostInShort) return null
  if (changes.some(({ from, to }) => from.length + to.length > longestInShort)) return null
  return changes.map(({ from, label, to }) => (
    <span key={label}>
      {" · "}
      {label.toLowerCase()} <UserText>{from}</UserText> → <UserText>{to}</UserText>
    </span>
  ))
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

/** Runs are named from a list: to read one by itself would be an event. */
const newest = { limit: 100 }

/** The object of the event, by its name if known. */
const Subject = ({ event }: { readonly event: AuditEvent }) => {
  const webhooks = useWebhooks()
  const runs = useAllRuns(newest)
  const { action, object, before, after } = event
  if (object === undefined) return null
  if (action.startsWith("team.")) return <Link to={pathTo("team", { team: object })}>{object}</Link>
  if (/^(destination|delivery)\./.test(action))
    return <UserText>{textOf(after?.url ?? before?.url ?? object)}</UserText>
  if (action.startsWith("run.")) {
    const run = runs.data?.data.find(({ run_id }) => run_id === object)
    return (
      <Link to={pathTo("run", { run_id: object })}>
        <UserText>{run ? titleOf(run) : `Run ${object.slice(0, 8)}…`}</UserText>
      </Link>
    )
  }
  if (!action.startsWith("webhook.")) return null
  const known = webhooks.data?.find((webhook) => webhook.id === object)
  if (known) {
    return (
      <Link to={pathTo("webhook", known)}>
        <UserText>{known.name}</UserText>
      </Link>
    )
  }
  const name = textOf(after?.name ?? before?.name ?? object)
  return <UserText>{name}</UserText>
}

const Changes = ({ event: { action, before = {}, after = {} } }: { readonly event: AuditEvent }) => {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const { run_id } = after
  if (names.length === 0) return null
  if (typeof run_id === "string") {
    return (
      <p className="small">
        <Link to={pathTo("run", { run_id })}>
          {action === "team.message_sent" ? "Open the message" : "Open the run"}
        </Link>
      </p>
    )
  }
  return (
    <dl className="values">
      {names.map((name) => (
        <div key={name}>
          <dt className="mono">
            <UserText>{name}</UserText>
          </dt>
          <dd dir="auto" className="audit-change">
            {name in before && <del>{showDirectionMarks(textOf(before[name]))}</del>}
            {name in after && <ins>{showDirectionMarks(textOf(after[name]))}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

export default AuditPage
