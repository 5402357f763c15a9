/** The management of a server that a test has started. */
import { Effect } from "effect"

export const ADMIN_API_KEY = "a-key-for-these-tests"

/** The JSON of the response. */
export const call = (url: string, method: string, path: string, body?: object): Effect.Effect<any> =>
  Effect.promise(async () => {
    const headers = { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" }
    return (await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })).json()
  })
