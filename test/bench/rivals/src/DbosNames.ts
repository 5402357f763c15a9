/** What DBOS's client and its worker agree on. */
export const dbosNames = { applicationName: "bench", queueName: "teams", workflowName: "answer" }
