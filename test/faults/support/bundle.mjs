/** Vitest's global set-up of the fault tests: the server that they start, as few files, since it starts hundreds of times. */
import { fileURLToPath } from "node:url"
import { bundle } from "../../../build/bundle.mjs"

export default () => bundle(fileURLToPath(new URL("server.mjs", import.meta.url)), "test-server")
