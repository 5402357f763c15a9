/**
 * The leader of all teams for DBOS: it executes one workflow of each partition at a time. The answer is a step, as DBOS
 * wants it of everything that has effects outside of the workflow.
 */
import { DBOS } from "@dbos-inc/dbos-sdk"
import { listenForControl } from "./Control.ts"
import { dbosNames } from "./DbosNames.ts"
import { given } from "./Given.ts"

let prompts = 0

const answer = async () => {
  prompts++
  return "done"
}

const { applicationName, workflowName } = dbosNames
DBOS.registerWorkflow(() => DBOS.runStep(answer), { name: workflowName })
DBOS.setConfig({
  name: applicationName,
  systemDatabaseUrl: given.databaseUrl,
  // The benchmark stops this program between its turns, perhaps in a transaction.
  systemDatabaseIdleTransactionTimeoutMs: 0,
  logLevel: "error"
})
await DBOS.launch()
listenForControl(() => ({ prompts }))
