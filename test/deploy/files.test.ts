/** The files in `deploy` name settings and values that exist, and systemd accepts its units. */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { agentNames } from "../../src/domain/AgentName.ts"

const folder = new URL("../../deploy/", import.meta.url).pathname
const read = (name: string) => readFileSync(join(folder, name), "utf8")
const templates = readdirSync(join(folder, "helm/templates")).map((name) => read(`helm/templates/${name}`))
const temporary = mkdtempSync(join(tmpdir(), "deploy-"))
afterAll(() => rmSync(temporary, { recursive: true }))

/** The settings of the server, the leader and the command line. */
const settings = new Set(
  ["settings.md", "cli.md"].flatMap((page) =>
    [
      ...readFileSync(new URL(`../../docs/reference/${page}`, import.meta.url), "utf8").matchAll(/`([A-Z][A-Z_]+)`/g)
    ].map(([, name]) => name!)
  )
)

/** The service `name` of the compose file. */
const service = (name: string): string =>
  new RegExp(`^  ${name}:\\n((?:    .*\\n|\\n)*)`, "m").exec(read("compose.yaml"))![1]!

describe("the images that are built and started", () => {
  it("come from images of others by digest, which Dependabot keeps up to date", () => {
    const dockerfile = readFileSync(join(folder, "../Dockerfile"), "utf8")
    const froms = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!)
    const { services } = parse(read("compose.yaml"), { merge: true })
    const started = Object.values<{ readonly image: string }>(services).map(({ image }) => image)
    const foreign = [...froms, ...started].filter((image) => image !== "webhook-trigger")
    expect(foreign).toHaveLength(4)
    for (const image of foreign) expect(image).toMatch(/^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
    const { updates } = parse(readFileSync(join(folder, "../.github/dependabot.yml"), "utf8"))
    const kept = updates.map((update: any) => [update["package-ecosystem"], update.directory])
    expect(kept).toEqual(
      expect.arrayContaining([
        ["docker", "/"],
        ["docker-compose", "/deploy"]
      ])
    )
  })
})

describe("an init process", () => {
  it("waits for what agents leave, in the image, in Compose and in each pod", () => {
    const dockerfile = readFileSync(join(folder, "../Dockerfile"), "utf8")
    expect(dockerfile).toMatch(/^RUN .*apt-get install .*\btini\b/m)
    expect(dockerfile).toMatch(/^ENTRYPOINT \["tini", "-s", "--", "node", "dist\/main.js"\]$/m)
    for (const name of ["server", "leader"]) expect(service(name)).toContain("init: true")
    const pods = templates.filter((text) => text.includes("containers:"))
    expect(pods).toHaveLength(2)
    for (const pod of pods) expect(pod).toContain("shareProcessNamespace: true")
  })
})

describe("deploy/compose.yaml", () => {
  it("gives our programs only settings that exist", () => {
    const ours =
      ["server", "leader", "first-webhook"].map(service).join("") +
      /x-broker:[\s\S]*?\n\n/.exec(read("compose.yaml"))![0]
    const names = [...ours.matchAll(/^ {2,6}([A-Z][A-Z_]+): /gm)].map(([, name]) => name!)
    expect(names).toContain("DATABASE_URL")
    expect(names.filter((name) => !settings.has(name))).toEqual([])
  })

  it("takes from .env what .env.example lists, and no password is in it", () => {
    const wanted = new Set([...read("compose.yaml").matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name!))
    const listed = [...read(".env.example").matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name!)
    expect([...wanted].sort()).toEqual(listed.sort())
    expect(read(".env.example")).not.toMatch(/^(?!PUBLIC_URL)[A-Z_]+=./m)
  })

  it("starts the server once its database and broker are healthy, and lets it stop in order", () => {
    for (const name of ["postgres", "rabbitmq"]) {
      expect(service("server")).toContain(`${name}: { condition: service_healthy }`)
      expect(service(name)).toContain("healthcheck:")
    }
    expect(service("server")).toContain("stop_grace_period: 40s")
    expect(service("server")).toContain("init: true")
  })
})

// `chart.sh` renders it.
describe("deploy/helm", () => {
  const values = parse(read("helm/values.yaml"))

  it("has the version of the program", () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    expect(parse(read("helm/Chart.yaml"))).toMatchObject({ version, appVersion: version })
  })

  it("uses only values that it has", () => {
    const has = (path: string): boolean => path.split(".").reduce((value, name) => value?.[name], values) !== undefined
    const used = templates.flatMap((text) => [...text.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path]) => path!))
    expect(used).toContain("separateAdmin.port")
    expect(used.filter((path) => !has(path))).toEqual([])
  })

  it("gives our programs only settings that exist", () => {
    const text = templates.join("\n") + read("helm/values.schema.json")
    const names = [...text.matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b|"(?:HOST|PORT)"/g)].map(([name]) =>
      name.replaceAll('"', "")
    )
    expect(names).toContain("ADMIN_LISTEN")
    const ofNode = "NODE_EXTRA_CA_CERTS"
    expect(names.filter((name) => name !== ofNode && !settings.has(name))).toEqual([])
  })

  it("explains each value of a leader, uses it, and has all agents by name", () => {
    const { properties } = JSON.parse(read("helm/values.schema.json")).properties.leaders.items
    const explained = [...read("helm/values.yaml").matchAll(/^# {3}(?: |-) (\w+):/gm)].map(([, name]) => name!)
    expect([...new Set(explained)].sort()).toEqual(Object.keys(properties).sort())
    const text = read("helm/templates/leaders.yaml") + read("helm/templates/_helpers.tpl")
    expect(explained.filter((name) => !new RegExp(`\\.${name}\\b`).test(text))).toEqual([])
    expect(properties.agent.enum).toEqual(agentNames)
  })

  it("leaves more time for a stop than the server takes", () => {
    // 30 s of SHUTDOWN_GRACE, and 5 s before the signal.
    expect(values.terminationGracePeriodSeconds).toBeGreaterThan(35)
  })
})

describe("deploy/systemd", () => {
  const units = readdirSync(join(folder, "systemd"))

  it("has units that systemd accepts", () => {
    mkdirSync(join(temporary, "units"))
    const copies = units.map((name) => {
      const copy = join(temporary, "units", name)
      writeFileSync(copy, read(`systemd/${name}`).replaceAll("/usr/local/bin/webhook-trigger", process.execPath))
      return copy
    })
    expect(copies).toHaveLength(2)
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...copies], { encoding: "utf8" })
    expect([status, stderr]).toEqual([0, ""])
    // A wrong directive is found.
    const wrong = join(temporary, "wrong.service")
    writeFileSync(wrong, `${read("systemd/webhook-trigger.service")}\n[Service]\nRestartSec=often\n`)
    expect(spawnSync("systemd-analyze", ["verify", "--man=no", wrong], { encoding: "utf8" }).stderr).toContain("often")
  })

  it("gives the server little of the system", () => {
    const text = execFileSync(
      "systemd-analyze",
      ["security", "--offline=true", "--no-pager", join(folder, "systemd", "webhook-trigger.service")],
      {
        encoding: "utf8"
      }
    )
    const exposure = Number(/exposure level for .*: ([\d.]+)/.exec(text)![1])
    expect(exposure).toBeLessThan(2.5)
  })
})
