/** What the trigger is compared with: Node's own server that reads a JSON body and answers 202. */
import { createServer } from "node:http"

const server = createServer((request, response) => {
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    const { variables } = JSON.parse(Buffer.concat(chunks).toString())
    response.writeHead(202, { "content-type": "application/json" })
    response.end(JSON.stringify({ status: "accepted", names: Object.keys(variables).length }))
  })
})
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }))
