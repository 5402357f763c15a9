/** `npm run soak -- <minutes> [seed]` */
import { spawnSync } from "node:child_process"

const [minutes = "10", seed] = process.argv.slice(2)
const { status } = spawnSync("npx", ["vitest", "run", "--config", "test/faults/soak/soak.config.ts"], {
  stdio: "inherit",
  env: { ...process.env, SOAK_MINUTES: minutes, ...(seed === undefined ? {} : { TEST_SEED: seed }) }
})
process.exitCode = status ?? 1
