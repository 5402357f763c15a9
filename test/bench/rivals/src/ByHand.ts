/** The server that an engineer writes by hand: one statement or message after another for each trigger. */
import { type Answer, accepted, answered, notFound } from "./Answer.ts"
import { consumeReplies, publish } from "./Broker.ts"
import { listenForControl } from "./Control.ts"
import { makeRunId, render, type Variables } from "./Render.ts"
import { countRuns, createRuns, createWebhooks, type Rows } from "./Rows.ts"
import { settle, waitFor } from "./Waiting.ts"

export type Trigger = (token: string, variables: Variables, wait: boolean) => Promise<Answer>

/** Creates the tables, consumes replies, and calls `listen` with the trigger's function. */
export const serveByHand = async (rows: Rows, listen: (trigger: Trigger) => Promise<unknown>): Promise<void> => {
  const trigger: Trigger = async (token, variables, wait) => {
    const webhook = await rows.findWebhook(token)
    if (webhook === undefined) return notFound
    const id = makeRunId()
    const prompt = render(webhook.template, variables)
    await rows.insertRun({ id, webhook, prompt, variables })
    const response = wait ? waitFor(id) : undefined
    await publish({ id, team: webhook.team, prompt, replies: wait })
    return response === undefined ? accepted(id) : answered(id, await response)
  }
  await createWebhooks()
  await createRuns()
  await consumeReplies(async ({ acknowledge, id, response }) => {
    await rows.endRun({ id, response })
    acknowledge()
    settle(id, response)
  })
  await listen(trigger)
  listenForControl(countRuns)
}
