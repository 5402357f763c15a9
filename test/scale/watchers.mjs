/** Follows the events of one run (`URL`) with so many clients (`WATCHERS`). Answers what they have received. */
import { createServer, request } from "node:http"

const { CONTROL_PORT, URL: url, WATCHERS } = process.env
let [connected, ended, received] = [0, 0, 0]

const follow = () =>
  new Promise((connectedOne, refused) => {
    request(url, { agent: false, headers: { accept: "text/event-stream" } }, (response) => {
      if (response.statusCode !== 200) return refused(new Error(`answered ${response.statusCode}`))
      connected++
      connectedOne()
      let last = ""
      response.on("data", (chunk) => {
        received += chunk.length
        last = (last + chunk.toString("latin1")).slice(-200)
      })
      response.on("end", () => {
        if (last.includes("event: success")) ended++
      })
    })
      .on("error", refused)
      .end()
  })

createServer((_, response) => response.end(JSON.stringify({ connected, ended, received }))).listen(
  Number(CONTROL_PORT),
  "127.0.0.1"
)
while (connected < Number(WATCHERS)) {
  await Promise.all(Array.from({ length: Math.min(50, Number(WATCHERS) - connected) }, follow))
}
