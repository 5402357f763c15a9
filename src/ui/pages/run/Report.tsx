import type { Run } from "../../api/Types.ts"
import { CopyButton } from "../../components/CopyButton.tsx"
import { RunLinks } from "../../components/run/RunLinks.tsx"
import { UserText } from "../../components/UserText.tsx"
import { formatDollars, formatNumber } from "../../format/Format.ts"

/** The agent's report on its work: cost, tokens, denied permissions and links. */
export const Report = ({ run }: { readonly run: Run }) => {
  const { denied, links, session_id, session_lost, usage } = run
  return denied === undefined &&
    links === undefined &&
    session_id === undefined &&
    session_lost === undefined &&
    usage === undefined ? null : (
    <section className="card stack tight" aria-label="Agent">
      <h2>Agent</h2>
      {denied !== undefined && denied.length > 0 && (
        <p>
          The agent asked for permissions that it did not get: <UserText>{[...new Set(denied)].join(", ")}</UserText>.
          The options of its leader say what it may do.
        </p>
      )}
      {session_lost === true && <p>The agent no longer had the session of this thread, and began another one.</p>}
      <RunLinks run={run} />
      <dl className="facts">
        {usage?.model !== undefined && (
          <div>
            <dt>Model</dt>
            <dd>
              <UserText>{usage.model}</UserText>
            </dd>
          </div>
        )}
        {usage?.cost_usd !== undefined && (
          <div>
            <dt>Cost</dt>
            <dd>{formatDollars(usage.cost_usd)}</dd>
          </div>
        )}
        <Tokens label="Input tokens" count={usage?.input_tokens} />
        <Tokens label="Cached input tokens" count={usage?.cached_input_tokens} />
        <Tokens label="Output tokens" count={usage?.output_tokens} />
        {session_id !== undefined && (
          <div>
            <dt>Session</dt>
            <dd className="row">
              <span className="mono">
                <UserText>{session_id}</UserText>
              </span>
              <CopyButton text={session_id} what="the session id" />
            </dd>
          </div>
        )}
      </dl>
    </section>
  )
}

const Tokens = ({ label, count }: { readonly label: string; readonly count: number | undefined }) =>
  count === undefined ? null : (
    <div>
      <dt>{label}</dt>
      <dd>{formatNumber(count)}</dd>
    </div>
  )
