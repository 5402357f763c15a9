import { Array, type Context, Effect } from "effect"
import { includesTeam } from "../../../domain/access/Grant.ts"
import { kindOf } from "../../../domain/request/ReceivedRequest.ts"
import { RequestStore } from "../../history/RequestStore.ts"
import { by, isAfter, orNotFound, storableFields, type Tables } from "../Tables.ts"

export const makeRequestStore = (tables: Tables): Context.Tag.Service<RequestStore> => {
  const { notify, webhooks } = tables
  return RequestStore.of({
    recordRequests: (more, keep) =>
      Effect.sync(() => {
        const all = [...tables.requests, ...more.map(storableFields)].sort(by(({ request_id }) => request_id)).reverse()
        const ofEach = Array.groupBy(all, (request) => `${request.webhook_id} ${kindOf(request)}`)
        tables.requests = Object.values(ofEach)
          .flatMap((newest) => newest.slice(0, keep[kindOf(newest[0])]))
          .sort(by(({ request_id }) => request_id))
          .reverse()
        tables.requests = tables.requests.filter(({ webhook_id }) => webhooks.has(webhook_id))
        for (const webhook_id of new Set(more.map(({ webhook_id }) => webhook_id))) {
          if (webhooks.has(webhook_id)) notify({ _tag: "RequestsStored", webhook_id })
        }
      }),
    requests: (id, since, { kinds, owners, shown }) =>
      Effect.sync(() =>
        tables.requests
          .filter((request) => request.webhook_id === id && !isAfter(since, request.received_at))
          .filter((request) => kinds.includes(kindOf(request)) && includesTeam({ teams: owners }, request.team))
          .map(({ headers: _, query: __, body, ...request }) => ({
            ...request,
            ...(body !== undefined && { body: body.slice(0, shown) })
          }))
      ),
    request: (id, request_id, owners) =>
      orNotFound(
        () =>
          tables.requests.find(
            (request) =>
              request.webhook_id === id &&
              request.request_id === request_id &&
              includesTeam({ teams: owners }, request.team)
          ),
        (request) => request
      ),
    countIgnored: (counts) =>
      Effect.sync(() => {
        const all = [...tables.ignored, ...counts.filter(({ webhook_id }) => webhooks.has(webhook_id))]
        const ofEach = Array.groupBy(all, ({ begins_at, webhook_id }) => `${webhook_id} ${begins_at.epochMillis}`)
        tables.ignored = Object.values(ofEach).map((same) => ({
          ...same[0],
          count: same.reduce((sum, { count }) => sum + count, 0)
        }))
      }),
    ignored: (id, since) =>
      Effect.sync(() =>
        tables.ignored
          .filter(({ begins_at, webhook_id }) => webhook_id === id && !isAfter(since, begins_at))
          .reduce((sum, { count }) => sum + count, 0)
      ),
    forgetRequests: (before) =>
      Effect.sync(() => {
        tables.ignored = tables.ignored.filter(({ begins_at }) => !isAfter(before, begins_at))
        tables.requests = tables.requests.filter(({ received_at }) => !isAfter(before, received_at))
      })
  })
}
