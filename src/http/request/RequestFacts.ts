/** Facts about a request, found while it is answered: for its log line, its span, and audit events. */
import type { HttpServerRequest } from "effect/http"
import type { ApiKeyId, LeaderKeyId, RunId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Requester } from "../../engine/access/Audit.ts"
import * as Drain from "../serve/Drain.ts"
import * as LimitedConnections from "../serve/LimitedConnections.ts"
import { nodeRequest } from "./Body.ts"

type Request = HttpServerRequest.HttpServerRequest

export interface RequestFacts {
  readonly run_id?: RunId
  readonly webhook_id?: WebhookId
  /** Who sent a management request. */
  readonly actor?: Requester
  readonly session_id?: string
  /** The API key: the program's, or the session's. */
  readonly key_id?: ApiKeyId
  readonly key_name?: string
  /** The person who signed in at the provider. */
  readonly person_id?: string
  readonly person_name?: string
  /** The teams that the sender is limited to; absent: none. */
  readonly teams?: ReadonlyArray<TeamName>
  /** The key of a leader's request. */
  readonly leader_key_id?: LeaderKeyId
  readonly team?: TeamName
}

/** Stored on the request: a map with weak keys would cost more than all other records. */
const facts = Symbol("webhook-trigger/RequestFacts")

/** Set on a request that its client repeats all the time. */
const isRepeated = Symbol("webhook-trigger/isRepeated")

interface WithFacts {
  [facts]?: RequestFacts
  [isRepeated]?: true
}

export const add = (request: Request, more: RequestFacts): void => {
  const { actor, leader_key_id, webhook_id } = more
  if (webhook_id !== undefined || actor !== undefined || leader_key_id !== undefined) showedCredentials(request)
  const { [facts]: known } = request as WithFacts
  ;(request as WithFacts)[facts] = known === undefined ? more : { ...known, ...more }
}

/** The request has a valid webhook token, admin key, session or leader key. */
const showedCredentials = (request: Request): void => {
  const source = nodeRequest(request)
  if (source !== undefined) LimitedConnections.showedCredentials(source)
}

export const of = (request: Request): RequestFacts => (request as WithFacts)[facts] ?? {}

/** Its client repeats the request all the time: a success is not worth a line in the log, and no stop waits for it. */
export const routine = (request: Request): void => {
  ;(request as WithFacts)[isRepeated] = true
  const source = nodeRequest(request)
  if (source !== undefined) Drain.markRepeated(source)
}

export const isRoutine = (request: Request): boolean => (request as WithFacts)[isRepeated] === true
