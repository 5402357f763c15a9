/** Programs in `rivals/`, a package of its own that is installed and compiled on demand. */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "../support/Process.ts"
import { type Counts, team, teams, type Webhook, webhookTemplate } from "./Contender.ts"
import { type Place, untilAnswers } from "./Place.ts"

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const installRivals = (): void => {
  const cwd = pathOf("rivals")
  const [wanted, installed] = ["package-lock.json", "node_modules/.package-lock.json"].map(
    (file) => statSync(join(cwd, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  )
  if (wanted! > installed!) {
    console.log("installing the rivals")
    execFileSync("npm", ["ci", "--ignore-scripts", "--loglevel=error"], { cwd, stdio: "inherit" })
  }
  execFileSync(pathOf("../../node_modules/.bin/tsc"), ["-p", "tsconfig.json"], { cwd, stdio: "inherit" })
}

/** A webhook for each team, with a new token. */
export const makeWebhooks = (): ReadonlyArray<Webhook> =>
  [team, ...teams].map((team) => ({
    team,
    token: `whk_${randomBytes(32).toString("base64url")}`,
    template: webhookTemplate
  }))

export interface Program {
  readonly pid: number
  readonly startSeconds: number
  readonly counts: () => Promise<Counts>
}

/** Resolves when the program is ready. */
export const startProgram = async (
  place: Place,
  name: string,
  env: Readonly<Record<string, string>>
): Promise<Program> => {
  const controlPort = await freePort()
  const url = `http://127.0.0.1:${controlPort}/`
  const begin = performance.now()
  const daemon = place.node(name, [pathOf(`rivals/dist/${name}.js`)], { ...env, CONTROL_PORT: String(controlPort) })
  const startSeconds = await untilAnswers(daemon, url, begin)
  return { pid: daemon.pid, startSeconds, counts: async () => (await fetch(url)).json() as Promise<Counts> }
}

/** The RabbitMQ leader of all teams, which all contenders with RabbitMQ use. */
export const startLeader = (place: Place): Promise<Program> =>
  startProgram(place, "leader", { AMQP_URL: place.amqpUrl, WEBHOOKS: JSON.stringify(makeWebhooks()) })
