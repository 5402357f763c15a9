import { Args, Command } from "@effect/cli"
import { HttpClientRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import { adminOptions } from "../Connection.ts"
import { about } from "../Help.ts"
import * as Follow from "./Follow.ts"

const id = Args.text({ name: "run-id" }).pipe(Args.withDescription("The `run_id` in the response to a trigger"))

export const watch = Command.make("watch", { id, ...adminOptions }, ({ adminKey, id, json, url }) => {
  const source: Follow.Source = {
    url,
    json,
    notFound: `No run has the id ${JSON.stringify(id)}; see webhook-trigger run list`,
    events: (run_id) => {
      const request = HttpClientRequest.get(`${url}/api/runs/${encodeURIComponent(run_id)}/events`)
      return Option.isSome(adminKey) ? HttpClientRequest.bearerToken(request, adminKey.value) : request
    }
  }
  return Effect.flatMap(Follow.open(source, id), (response) => Follow.follow(source, id, response))
}).pipe(
  Command.withDescription(
    about("Follow a run until it ends", {
      details:
        "Prints the text as the agent writes it, and what it does on standard error. Reconnects by itself. The exit code is the same as that of trigger --wait. With --json, prints one line for each event.",
      examples: ["webhook-trigger run watch 01890a5d-ac96-774b-bcce-b302099a8057"]
    })
  )
)
