import { serveByHand } from "./ByHand.ts"
import { listenWithFastify } from "./FastifyServer.ts"
import { rowByRow } from "./Rows.ts"

await serveByHand(rowByRow, listenWithFastify)
