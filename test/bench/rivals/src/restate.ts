/**
 * Restate behind Fastify: a virtual object for each team, whose invocations are the runs. A plain call is answered by
 * the handler; with `/send`, Restate answers as soon as it has the prompt.
 */
import { Pool } from "undici"
import { accepted, answered, notFound } from "./Answer.ts"
import { listenForControl } from "./Control.ts"
import { listenWithFastify } from "./FastifyServer.ts"
import { given } from "./Given.ts"
import { render } from "./Render.ts"
import { createWebhooks, rowByRow } from "./Rows.ts"

const ingress = new Pool(given.restate.ingress)
const admin = new Pool(given.restate.admin)
const headers = { "content-type": "application/json", accept: "application/json" }

/** The answer to a request, and the ID of the invocation. */
const post = async (pool: Pool, path: string, content: unknown): Promise<{ id: string; answer: any }> => {
  const response = await pool.request({ method: "POST", path, headers, body: JSON.stringify(content) })
  const { body, statusCode } = response
  if (statusCode >= 300) throw new Error(`${path}: ${statusCode} ${await body.text()}`)
  return { id: String(response.headers["x-restate-id"]), answer: await body.json() }
}

await createWebhooks()

await listenWithFastify(async (token, variables, wait) => {
  const webhook = await rowByRow.findWebhook(token)
  if (webhook === undefined) return notFound
  const path = `/Team/${webhook.team}/answer${wait ? "" : "/send"}`
  const { answer, id } = await post(ingress, path, { prompt: render(webhook.template, variables), variables })
  return wait ? answered(id, answer) : accepted(answer.invocationId)
})

listenForControl(async () => {
  const query = `select count(*) as rows, count(completed_at) as ended from sys_invocation
                 where target_service_name = 'Team'`
  return (await post(admin, "/query", { query })).answer.rows[0]
})
