import type { HttpServerRequest } from "@effect/platform"
import type { OriginValues } from "../../engine/access/Audit.ts"
import { clientAddress } from "./ClientAddress.ts"
import * as RequestFacts from "./RequestFacts.ts"
import type { Networks } from "./TrustedProxies.ts"

/** Who sends the request, which is known once it has been authenticated, and from where. */
export const originOf = (proxies: Networks, request: HttpServerRequest.HttpServerRequest): OriginValues => ({
  client_address: clientAddress(proxies, request),
  get actor() {
    return RequestFacts.of(request).actor ?? "unknown"
  },
  get session_id() {
    return RequestFacts.of(request).session_id
  }
})
