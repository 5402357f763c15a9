import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Program from "../cli/Program.ts"
import { freshDatabase } from "../support/fresh.ts"

it.scopedLive("an idle connection is kept for longer than the usual proxies keep theirs", () =>
  Effect.gen(function* () {
    const server = yield* Program.serve({ DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY: "a-key-for-these-tests" })
    const { headers } = yield* Effect.promise(() => fetch(`${server.url}/health/live`))
    expect(headers.get("keep-alive")).toBe("timeout=65")
  })
)
