import { useServer } from "../api/Queries.ts"
import type { Server } from "../api/Types.ts"
import { Loaded } from "../components/Loaded.tsx"
import { Page } from "../components/Page.tsx"
import { formatDuration, formatNumber } from "../format/Format.ts"
import { SettingsSections } from "./SettingsSections.tsx"

const factsOf = (server: Server): ReadonlyArray<readonly [string, string]> => [
  ["Version", server.version],
  ["Address for callers", server.public_url],
  ["Database", server.database],
  ["Message bus", server.bus],
  ["Agents at work", `at most ${formatNumber(server.webhook_max_concurrent)}`],
  ["Queued runs", `at most ${formatNumber(server.webhook_max_queued)}`],
  ["Timeout of a run", formatDuration(server.webhook_timeout_seconds * 1000)],
  ["Work after a caller's timeout", `at most ${formatDuration(server.webhook_max_work_seconds * 1000)}`]
]

/** The server's facts and its limits. They are set by environment variables. */
const ServerPage = () => (
  <Page title="Server">
    <SettingsSections current="server" />
    <Loaded query={useServer()}>
      {(server) => (
        <section className="card stack" aria-label="Server">
          <dl className="facts three">
            {factsOf(server).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          <p className="muted small">Environment variables set these values when the server starts.</p>
        </section>
      )}
    </Loaded>
  </Page>
)

export default ServerPage
