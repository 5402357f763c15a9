import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import * as Json from "../../../domain/Json.ts"
import { errorLine, plainText, titleOf } from "../../../domain/run/RunTitle.ts"
import { useNow, useTeams } from "../../api/Queries.ts"
import type { RunSummary, Team } from "../../api/Types.ts"
import { formatDuration } from "../../format/Format.ts"
import { ElapsedTime, formatTime, RelativeTime } from "../../format/Time.tsx"
import { showDirectionMarks, UserText } from "../UserText.tsx"
import { type Phase, waited, worked } from "./Phases.ts"
import { StatusBadge } from "./Status.tsx"
import { waitOf } from "./Waits.ts"

const modeNames = { wait: "sync", async: "async" } as const

const formatValue = (value: unknown): string => (typeof value === "string" ? value : Json.stringify(value))

/** Its values in a line, if nobody has chosen a title that tells the webhook's runs apart. */
const valuesOf = (run: RunSummary): string | undefined => {
  if (run.source === "chat" || run.title !== undefined) return undefined
  const parts = Object.entries(run.variables).map(([name, value]) => `${name}: ${formatValue(value).slice(0, 100)}`)
  return showDirectionMarks(parts.join("  ·  ").slice(0, 300)) || undefined
}

/** The run's title, then whose it is, and why it failed or what it waits for, or what the agent does now. */
const About = ({
  run,
  name,
  team,
  activity
}: {
  readonly run: RunSummary
  readonly name: string | undefined
  readonly team: Team | undefined
  readonly activity: string | undefined
}) => {
  const error = errorLine(run)
  const wait = waitOf(run, team)
  const now = activity && showDirectionMarks(plainText(activity))
  const values = error === undefined ? (wait === undefined ? (now ?? valuesOf(run)) : `waits ${wait}`) : undefined
  return (
    <span className="run-summary">
      <strong>
        <UserText>{titleOf(run)}</UserText>
      </strong>
      {(name !== undefined || error !== undefined || values !== undefined) && <br />}
      {name !== undefined && (
        <span className="small muted">
          <UserText>{name}</UserText>
          {name !== run.team && ` · ${run.team}`}
          {(error ?? values) !== undefined && " · "}
        </span>
      )}
      {error !== undefined && (
        <span className="small run-error">
          <UserText>{error}</UserText>
        </span>
      )}
      {values !== undefined && <bdi className="small muted">{values}</bdi>}
    </span>
  )
}

/** The duration of a phase, updated until it ends. */
const Length = ({ of, name }: { readonly of: Phase | undefined; readonly name: string }) => (
  <span className="run-time small muted">
    {of && <span className="run-label">{name} </span>}
    {of === undefined ? (
      "–"
    ) : of.to === undefined ? (
      <ElapsedTime since={of.from} />
    ) : (
      formatDuration(Date.parse(of.to) - Date.parse(of.from))
    )}
  </span>
)

export const RunList = ({
  runs,
  label,
  nameOf,
  selection,
  list,
  panel
}: {
  readonly runs: ReadonlyArray<RunSummary>
  readonly label: string
  /** The name of the run's webhook, if the rows have different ones. */
  readonly nameOf?: (run: RunSummary) => string
  /** The selected rows. */
  readonly selection?: { readonly ids: ReadonlySet<string>; readonly toggle: (id: string) => void }
  /** The search part of an address of the page of all runs with this list, for “Newer run” and “Older run”. */
  readonly list?: string
  /** Where runs are shown beside the list: which one, and what a click does unless it returns false. */
  readonly panel?: { readonly shown: string; readonly show: (id: string) => boolean }
}) => {
  const teams = useTeams().data
  const work = useNow(runs.some(({ status }) => status === "running")).data?.work
  return (
    <div className={selection ? "selectable" : ""}>
      <div className="run run-head small muted" aria-hidden="true">
        <span>Status</span>
        <span>{nameOf ? "Run, webhook and team" : "Run"}</span>
        <span className="run-time">Waited</span>
        <span className="run-time">Worked</span>
        <span>Mode</span>
        <span className="run-time">When</span>
      </div>
      <ul className="runs" aria-label={label}>
        {runs.map((run) => (
          <li key={run.run_id}>
            {selection && (
              <label className="select">
                <input
                  type="checkbox"
                  checked={selection.ids.has(run.run_id)}
                  onChange={() => selection.toggle(run.run_id)}
                  aria-label={`Select ${titleOf(run)}, ${formatTime(run.accepted_at)}`}
                />
              </label>
            )}
            <Link
              to={pathTo("run", run)}
              className="run"
              aria-current={panel?.shown === run.run_id || undefined}
              onClick={(event) => panel?.show(run.run_id) && event.preventDefault()}
              {...(list !== undefined && { state: { list } })}
            >
              <StatusBadge run={run} />
              <About
                run={run}
                name={nameOf?.(run)}
                team={teams?.find(({ team }) => team === run.team)}
                activity={work?.find(({ run_id }) => run_id === run.run_id)?.activity}
              />
              <Length of={waited(run)} name="waited" />
              <Length of={worked(run)} name="worked" />
              <span className="run-mode small muted">{modeNames[run.mode]}</span>
              <span className="run-time run-when small muted">
                <RelativeTime at={run.accepted_at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}
