/**
 * `npm run test:deploy`: the Helm chart, rendered and checked against Kubernetes's schemas, and the steps of the Dockerfile,
 * run one by one. `-- chart` or `-- image` is one of them.
 */
import { chmodSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cleanUpAtExit } from "../support/Process.ts"
import { checkChart } from "./chart/check.ts"
import { checkImage } from "./Image.ts"

const checks = { chart: checkChart, image: checkImage }

const wanted = process.argv.slice(2)
for (const [name, check] of Object.entries(checks)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  console.log(`\n=== ${name}`)
  const folder = mkdtempSync(join(tmpdir(), "webhook-trigger-deploy-"))
  // The image's program runs as another user.
  chmodSync(folder, 0o755)
  const cleanUp = cleanUpAtExit(folder)
  try {
    await check(folder)
  } finally {
    await cleanUp()
  }
}
