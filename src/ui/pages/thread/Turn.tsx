import { useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { titleOf } from "../../../domain/run/RunTitle.ts"
import { useWebhooks, useWholeRun } from "../../api/Queries.ts"
import type { RunSummary } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { AnswerText } from "../../components/run/Answer.tsx"
import { LiveProgress } from "../../components/run/LiveProgress.tsx"
import { RunLinks } from "../../components/run/RunLinks.tsx"
import { RunNotice } from "../../components/run/RunNotice.tsx"
import { StatusBadge } from "../../components/run/Status.tsx"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"
import { ElapsedTime, RelativeTime } from "../../format/Time.tsx"
import { sessionNote } from "../run/Facts.tsx"

/** Longer prompts are folded. */
const shownPrompt = { characters: 1_000, lines: 12 }

/** A run in a conversation: what was said on one side, and the agent's answer on the other. */
export const Turn = ({ run: summary }: { readonly run: RunSummary }) => {
  const run = useWholeRun(summary)
  const webhooks = useWebhooks()
  const sender = run.webhook_id && (webhooks.data?.find(({ id }) => id === run.webhook_id)?.name ?? "Webhook")
  const { response } = run.conversation
  return (
    <li className="turn">
      <div className="turn-prompt">
        <div className="row between small">
          <span className="row">
            <strong>{sender ? <UserText>{sender}</UserText> : "Message"}</strong>
            <span className="muted">
              <RelativeTime at={run.accepted_at} />
            </span>
          </span>
          <Link to={pathTo("run", run)}>Open the run</Link>
        </div>
        <Prompt text={run.conversation.prompt} {...(sender && { title: titleOf(run) })} />
      </div>
      <div className="turn-side">
        {run.status !== "success" && <StatusBadge run={run} />}
        {run.session_lost === true && <p className="small muted">{sessionNote(run)}</p>}
        <RunNotice run={run} again="send the message again" />
        {!isFinal(run.status) && (
          <p className="small muted">
            <ElapsedTime since={run.accepted_at} />
          </p>
        )}
        {run.status === "running" && (
          <div className="turn-answer">
            <LiveProgress run_id={run.run_id} heading="h2" />
          </div>
        )}
        {response !== undefined && (
          <div className="turn-answer">
            <AnswerText
              text={response}
              title={run.status === "success" ? run.team : `${run.team}, late`}
              at={run.finished_at}
              heading="h2"
            />
            <RunLinks run={run} />
          </div>
        )}
        {response === undefined && <RunLinks run={run} />}
      </div>
    </li>
  )
}

const foldOf = (text: string): string => text.split("\n", shownPrompt.lines).join("\n").slice(0, shownPrompt.characters)

/** A webhook's prompt is long and the same but for its values, so at first only its title is shown. */
const Prompt = ({ text, title }: { readonly text: string; readonly title?: string }) => {
  const [whole, setWhole] = useState(false)
  const folded = title ?? foldOf(text)
  return (
    <div className="turn-text">
      <p dir="auto">{showDirectionMarks(whole ? text : folded)}</p>
      {folded !== text && (
        <Button compact variant="quiet" onPress={() => setWhole(!whole)}>
          {whole ? "Show less" : "Show all of it"}
        </Button>
      )}
    </div>
  )
}
