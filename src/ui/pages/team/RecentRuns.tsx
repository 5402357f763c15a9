import { useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { errorLine, plainText, titleOf } from "../../../domain/run/RunTitle.ts"
import { useTeamRuns, useWebhooks } from "../../api/Queries.ts"
import type { RunSummary, Team } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { ReplayRuns } from "../../components/run/ReplayRuns.tsx"
import { ReplyToRun } from "../../components/run/ReplyToRun.tsx"
import { StatusBadge } from "../../components/run/Status.tsx"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"
import { RelativeTime } from "../../format/Time.tsx"

/** The team's latest runs and chat messages with their answers, newest first. */
export const RecentRuns = ({ team }: { readonly team: Team }) => {
  const runs = useTeamRuns(team.team)
  const webhooks = useWebhooks()
  const [shown, setShown] = useState(6)
  return (
    <section className="card" aria-label="Recent runs">
      <div className="row between">
        <h2>Recent runs</h2>
        <span className="row">
          <Link to={pathTo("threads", team)}>Conversations</Link>
          <ReplayRuns which={{ team: team.team }} />
        </span>
      </div>
      <Loaded query={runs}>
        {(all) =>
          all.length === 0 ? (
            <p className="muted">No runs yet.</p>
          ) : (
            <div className="stack">
              <ul className="recent-runs" aria-label="Newest first">
                {all.slice(0, shown).map((run) => (
                  <RecentRun
                    key={run.run_id}
                    run={run}
                    webhook={webhooks.data?.find((webhook) => webhook.id === run.webhook_id)?.name}
                  />
                ))}
              </ul>
              {all.length > shown && (
                <div>
                  <Button onPress={() => setShown(shown + 12)}>Show more</Button>
                </div>
              )}
            </div>
          )
        }
      </Loaded>
    </section>
  )
}

const RecentRun = ({ run, webhook }: { readonly run: RunSummary; readonly webhook: string | undefined }) => {
  const answer = run.conversation.response ?? errorLine(run)
  const asked = run.source === "chat" ? plainText(run.conversation.prompt).slice(0, 500) : titleOf(run)
  return (
    <li>
      <div className="row between small">
        <span className="row">
          <StatusBadge run={run} />
          <span className="muted">{run.source === "chat" ? "Chat" : <UserText>{webhook ?? "Webhook"}</UserText>}</span>
        </span>
        <span className="row muted">
          <RelativeTime at={run.accepted_at} />
          <Link to={pathTo("run", run)}>Open</Link>
        </span>
      </div>
      <p className="recent-prompt" dir="auto">
        {showDirectionMarks(asked)}
      </p>
      {answer !== undefined && (
        <p className="recent-prompt recent-answer" dir="auto">
          {showDirectionMarks(plainText(answer).slice(0, 500))}
        </p>
      )}
      <ReplyToRun run={run} nested />
    </li>
  )
}
