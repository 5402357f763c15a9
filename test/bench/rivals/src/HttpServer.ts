import { createServer, type IncomingMessage } from "node:http"
import type { Answer } from "./Answer.ts"
import { given } from "./Given.ts"
import type { Variables } from "./Render.ts"

const bodyOf = (request: IncomingMessage): Promise<{ readonly variables: Variables }> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk) => chunks.push(chunk))
    request.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString())))
    request.on("error", reject)
  })

const path = "/webhook/trigger/"

/** The trigger's route on Node's own server; resolves when it listens. */
export const listenWithNode = (
  trigger: (token: string, variables: Variables, wait: boolean) => Answer | Promise<Answer>
): Promise<void> => {
  const server = createServer(async (request, response) => {
    const [token = "", query] = request.url!.slice(path.length).split("?")
    const { variables } = await bodyOf(request)
    const { body, status } = await trigger(token, variables, query === "wait=true")
    const text = JSON.stringify(body)
    response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    response.end(text)
  })
  return new Promise((resolve) => server.listen(given.port, "127.0.0.1", resolve))
}
