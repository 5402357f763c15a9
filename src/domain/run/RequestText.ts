/** Plain code: the web UI loads it without `Schema`. */
import type { AgentRequest } from "./AgentRequest.ts"
import { isCommit } from "./WorkspaceRef.ts"

/** A webhook's request to the agent: `model haiku, permissions read-only, at most 10 turns, at most $0.50`. */
export const requestText = ({
  answer_schema,
  max_cost,
  max_turns,
  may_ask,
  model,
  permissions,
  workspace_ref
}: AgentRequest): string =>
  [
    model === undefined ? [] : `model ${model}`,
    permissions === undefined ? [] : `permissions ${permissions}`,
    workspace_ref === undefined ? [] : `${isCommit(workspace_ref) ? "commit" : "ref"} ${workspace_ref}`,
    max_turns === undefined ? [] : `at most ${max_turns} turns`,
    max_cost === undefined ? [] : `at most $${max_cost.toFixed(2)}`,
    may_ask === false ? "no questions" : [],
    answer_schema === undefined ? [] : "an answer that matches a schema"
  ]
    .flat()
    .join(", ")
