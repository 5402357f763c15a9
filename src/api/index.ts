/**
 * The HTTP contract as code: what a client or a user interface needs, and nothing that only a server needs. Runs in a
 * browser.
 */

export { RunId, WebhookId } from "../domain/Id.ts"
export { Run, RunStatus } from "../domain/run/Run.ts"
export { Team, TeamName } from "../domain/Team.ts"
export { Webhook, WebhookDraft, WebhookEdit } from "../domain/webhook/Webhook.ts"
export { Api } from "./Api.ts"
export * as Client from "./Client.ts"
export type { ProblemStatus } from "./Problem.ts"
export { type ProblemCode, problemCodes } from "./ProblemTitles.ts"
export { CallersRun } from "./run/RunAnswers.ts"
