/**
 * `npm run test:matrix`: the contract and fault suites against RabbitMQ 4.0 and PostgreSQL 17 of Debian 13, with
 * classic and with quorum queues. The first time creates that Debian in the user's cache folder (two minutes, 0.9 GB).
 * It runs by chroot, which needs root. `npm run test:matrix -- <file>…` runs only these files.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "webhook-trigger")
const root = join(cache, "trixie")

const createDebian = () => {
  if (process.getuid() !== 0) throw new Error("debootstrap and chroot need root")
  const run = (program, ...args) => execFileSync(program, args, { stdio: "inherit" })
  if (!existsSync("/usr/sbin/debootstrap")) run("apt-get", "install", "-y", "-q", "debootstrap")
  const half = `${root}.half`
  rmSync(half, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  const packages = "--include=rabbitmq-server,postgresql,pgbouncer"
  run("debootstrap", "--variant=minbase", packages, "trixie", half, "http://deb.debian.org/debian")
  rmSync(root, { recursive: true, force: true })
  renameSync(half, root)
}

// One that an earlier version of this script has made lacks it.
if (!existsSync(join(root, "usr/sbin/pgbouncer"))) createDebian()

const files = process.argv.slice(2)
// The contract of the bus tests both kinds of queues itself.
const suites = { classic: ["test/bus", "test/repo", "test/faults"], quorum: ["test/faults"] }
let failed = false
for (const [queueType, chosen] of Object.entries(suites)) {
  console.log(`\n=== RabbitMQ 4.0, PostgreSQL 17, ${queueType} queues`)
  const env = { ...process.env, TEST_ROOT: root, TEST_QUEUE_TYPE: queueType }
  const run = ["vitest", "run", ...(files.length > 0 ? files : chosen)]
  const { status } = spawnSync("npx", run, { stdio: "inherit", env })
  failed ||= status !== 0
}
process.exitCode = failed ? 1 : 0
