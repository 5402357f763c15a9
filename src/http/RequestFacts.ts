/** What is found out about a request while it is answered: for its log line, its span, and audit events. */
import type { HttpServerRequest } from "@effect/platform"
import type { AuditActor } from "../domain/AuditEvent.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"

type Request = HttpServerRequest.HttpServerRequest

export interface RequestFacts {
  readonly run_id?: RunId
  readonly webhook_id?: WebhookId
  /** Who sent a management request. */
  readonly actor?: AuditActor
  readonly session_id?: string
}

const facts = new WeakMap<Request, RequestFacts>()

export const add = (request: Request, more: RequestFacts): void => {
  const known = facts.get(request)
  facts.set(request, known === undefined ? more : { ...known, ...more })
}

export const of = (request: Request): RequestFacts => facts.get(request) ?? {}
