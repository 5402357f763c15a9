import type { HttpServerRequest } from "effect/http"
import type { OriginValues } from "../../engine/access/Audit.ts"
import type { Networks } from "../../runtime/Networks.ts"
import { clientAddress } from "./ClientAddress.ts"
import * as RequestFacts from "./RequestFacts.ts"

/** The sender of the request, known once it is authenticated, and its address. */
export const originOf = (proxies: Networks, request: HttpServerRequest.HttpServerRequest): OriginValues => ({
  client_address: clientAddress(proxies, request),
  get actor() {
    return RequestFacts.of(request).actor ?? "unknown"
  },
  get key_id() {
    return RequestFacts.of(request).key_id
  },
  get key_name() {
    return RequestFacts.of(request).key_name
  },
  get person_id() {
    return RequestFacts.of(request).person_id
  },
  get person_name() {
    return RequestFacts.of(request).person_name
  },
  get teams() {
    return RequestFacts.of(request).teams
  },
  get session_id() {
    return RequestFacts.of(request).session_id
  }
})
