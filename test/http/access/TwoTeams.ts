import { Effect } from "effect"
import type { Call } from "../Client.ts"
import { hello, start } from "../Server.ts"

/** Two teams with a webhook, a run, a message and a thread each, and a key for each of them. */
export const twoTeams = () =>
  Effect.gen(function* () {
    const server = yield* start()
    const keyFor = (teams: ReadonlyArray<string>, role = "admin") =>
      Effect.map(server.admin("POST", "/api/keys", { body: { name: teams.join(), role, teams } }), ({ json }) => {
        const key: string = json.key
        const as = (method: string, path: string, request: Call = {}) =>
          server.http(method, path, { ...request, headers: { authorization: `Bearer ${key}`, ...request.headers } })
        return { key, as }
      })
    const filled = (team: string) =>
      Effect.gen(function* () {
        yield* server.team(team)
        const hook = yield* server.webhook(team, "{{text}}", { store_requests: "all" })
        const run_id: string = (yield* server.http("POST", `${hook.path}?wait=true`, { body: hello })).json.run_id
        const sent = { body: { message: `secret of ${team}`, thread: "shop#7" } }
        yield* server.admin("POST", `/api/teams/${team}/messages?wait=true`, sent)
        const destination = { body: { url: "http://127.0.0.1:1/" } }
        const added = yield* server.admin("POST", `/api/webhooks/${hook.id}/destinations`, destination)
        const destination_id: string = added.json.destination.id
        const [thread] = (yield* server.admin("GET", `/api/teams/${team}/threads`)).json.data
        const leaderKey = yield* server.admin("POST", `/api/teams/${team}/leader-keys`, { body: { name: "n" } })
        const values = {
          ...{ team, run_id, thread_id: thread.id as string, destination_id, version: "1" },
          leader_key_id: leaderKey.json.leader_key.id as string
        }
        return { ...(yield* keyFor([team])), hook, run_id, values }
      })
    return { server, keyFor, a: yield* filled("a"), b: yield* filled("b") }
  })
