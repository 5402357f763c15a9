/** Facts about a request, found while it is answered: for its log line, its span, and audit events. */
import type { HttpServerRequest } from "@effect/platform"
import type { AuditActor } from "../../domain/access/AuditEvent.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import * as LimitedConnections from "../serve/LimitedConnections.ts"
import { nodeRequest } from "./Body.ts"

type Request = HttpServerRequest.HttpServerRequest

export interface RequestFacts {
  readonly run_id?: RunId
  readonly webhook_id?: WebhookId
  /** Who sent a management request. */
  readonly actor?: AuditActor
  readonly session_id?: string
}

/** Stored on the request: a map with weak keys would cost more than all other records. */
const facts = Symbol("webhook-trigger/RequestFacts")

interface WithFacts {
  [facts]?: RequestFacts
}

export const add = (request: Request, more: RequestFacts): void => {
  if (more.webhook_id !== undefined || more.actor !== undefined) showedCredentials(request)
  const { [facts]: known } = request as WithFacts
  ;(request as WithFacts)[facts] = known === undefined ? more : { ...known, ...more }
}

/** The request has a valid webhook token, admin key or session. */
const showedCredentials = (request: Request): void => {
  const source = nodeRequest(request)
  if (source !== undefined) LimitedConnections.showedCredentials(source)
}

export const of = (request: Request): RequestFacts => (request as WithFacts)[facts] ?? {}
