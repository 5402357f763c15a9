import { phaseOf } from "../../../domain/run/RunStatus.ts"
import { isCommit } from "../../../domain/run/WorkspaceRef.ts"
import { useMay } from "../../api/Access.ts"
import { api } from "../../api/Client.ts"
import { queries, useRun, useWebhook } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { ExactTime } from "../../format/Time.tsx"
import { Button } from "../Button.tsx"
import { useKeyedAction } from "../form/KeyedAction.ts"
import { ErrorNotice } from "../Notice.tsx"
import { RawText } from "../RawText.tsx"
import { showDirectionMarks } from "../UserText.tsx"

/** The prompt of a run that waits for its approval, and the buttons for those who may decide, or who may instead. */
export const Approval = ({ run }: { readonly run: Run }) =>
  phaseOf(run) === "waits for approval" ? <Decide run={run} /> : null

const Decide = ({ run }: { readonly run: Run }) => {
  const { error, pending, perform } = useKeyedAction()
  const may = useMay()
  // The run may be of a list, which does not say.
  const shown = useRun(run.run_id).data
  const ref = run.agent?.workspace_ref
  const decide = async (decision: "approve" | "deny") => {
    const decided = await perform(() => api.runs.decide({ path: run, payload: { decision } }))
    if (decided !== undefined) queries.setQueryData(["run", run.run_id], decided)
    void queries.invalidateQueries({ queryKey: ["all-runs"] })
  }
  return (
    <section className="card stack tight" aria-label="Approval">
      <h2>Waiting for approval</h2>
      <RawText text={run.conversation.prompt} title="Prompt" what="the prompt" />
      {ref !== undefined && (
        <p>
          {isCommit(ref) ? "Commit" : "Branch or tag"}: <code>{ref}</code>
          {!isCommit(ref) && ", whatever it is when the agent starts"}
        </p>
      )}
      {run.asked_by !== undefined && <p>Asked for by {showDirectionMarks(run.asked_by.split("\n").join(", "))}</p>}
      {shown?.decision_refusal !== undefined && <Refused reason={shown.decision_refusal} webhook_id={run.webhook_id} />}
      {may("runs.decide") && shown !== undefined && shown.decision_refusal === undefined && (
        <div className="row">
          <Button variant="primary" icon="check" pending={pending} onPress={() => void decide("approve")}>
            Approve
          </Button>
          <Button variant="danger" icon="cross" pending={pending} onPress={() => void decide("deny")}>
            Deny
          </Button>
        </div>
      )}
      <p className="muted small">
        The prompt is sent to {run.team} when somebody approves the run. Without a decision, the run is cancelled on{" "}
        <ExactTime at={run.held_until!} />.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
    </section>
  )
}

const Refused = ({ reason, webhook_id }: { readonly reason: string; readonly webhook_id: Run["webhook_id"] }) => {
  const approvers = useWebhook(useMay()("webhooks.show") ? webhook_id : undefined).data?.approvers
  return (
    <p>
      {reason}
      {approvers !== undefined && <> Approvers: {showDirectionMarks(approvers.join(", "))}.</>}
    </p>
  )
}
