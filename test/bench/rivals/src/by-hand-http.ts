import { serveByHand } from "./ByHand.ts"
import { listenWithNode } from "./HttpServer.ts"
import { rowByRow } from "./Rows.ts"

await serveByHand(rowByRow, listenWithNode)
