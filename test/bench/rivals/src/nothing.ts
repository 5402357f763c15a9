/** The limit of Node's own server: it reads the body and answers, and does nothing else. */
import { accepted } from "./Answer.ts"
import { listenForControl } from "./Control.ts"
import { listenWithNode } from "./HttpServer.ts"
import { makeRunId } from "./Render.ts"

await listenWithNode(() => accepted(makeRunId()))
listenForControl(() => ({}))
