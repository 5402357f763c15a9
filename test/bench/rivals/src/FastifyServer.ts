import Fastify from "fastify"
import type { Answer } from "./Answer.ts"
import { given } from "./Given.ts"
import type { Variables } from "./Render.ts"

const text = { type: "string" }
const answer = { type: "object", properties: { status: text, run_id: text, response: text } }

/** Fastify's own way to be fast: a schema for the body, and one for the response, which it compiles to a serializer. */
const schema = {
  body: { type: "object", required: ["variables"], properties: { variables: { type: "object" } } },
  querystring: { type: "object", properties: { wait: { type: "boolean" } } },
  response: { "2xx": answer, "4xx": answer }
}

interface Route {
  Params: { token: string }
  Querystring: { wait?: boolean }
  Body: { variables: Variables }
}

/** The trigger's route on Fastify; resolves when it listens. */
export const listenWithFastify = (
  trigger: (token: string, variables: Variables, wait: boolean) => Promise<Answer>
): Promise<unknown> => {
  const app = Fastify({ logger: false })
  app.post<Route>("/webhook/trigger/:token", { schema }, async (request, reply) => {
    const { body, status } = await trigger(request.params.token, request.body.variables, request.query.wait === true)
    return reply.code(status).send(body)
  })
  return app.listen({ host: "127.0.0.1", port: given.port })
}
