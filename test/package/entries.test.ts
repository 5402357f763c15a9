/** The modules that each entry of the package loads: a host with one driver does not load the others. */
import { fileURLToPath } from "node:url"
import { beforeAll, describe, expect, it } from "vitest"
import { exec } from "../support/Process.ts"

const here = fileURLToPath(new URL(".", import.meta.url))
const dist = new URL("../../dist/", import.meta.url).href

interface Import {
  readonly url: string
  readonly importer: string
}

interface Loaded {
  /** Packages that our own modules import. */
  readonly packages: ReadonlyArray<string>
  /** Folders of `dist`, those of ports with their drivers, and the files beside them. */
  readonly own: ReadonlyArray<string>
  /** All packages, with what the packages load themselves. */
  readonly all: ReadonlyArray<string>
  /** Node's own modules. */
  readonly builtin: ReadonlyArray<string>
  readonly error?: string
}

/** Of Effect also its parts, such as `effect/http`. */
const packageOf = (url: string): string | undefined => {
  const [, name, folder] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(?:\/dist\/([a-z-]+)\/)?/.exec(url) ?? []
  return name === "effect" && folder !== undefined && folder !== "internal" ? `${name}/${folder}` : name
}

/** `engine`, `repo/database`, or a file such as `index.js`. */
const roomOf = (path: string): string | undefined =>
  /^(?:bus\/(?:amqp|http)|repo\/database)(?=\/)/.exec(path)?.[0] ?? /^[^/]+/.exec(path)?.[0]

const sorted = (names: Iterable<string | undefined>): ReadonlyArray<string> =>
  [...new Set(names)].filter((name) => name !== undefined).sort()

/** Imports modules of `dist` in a separate process. Returns the modules that each of them loads. */
const load = async (
  modules: ReadonlyArray<string>,
  ...options: ReadonlyArray<string>
): Promise<(module: string) => Loaded> => {
  const urlOf = (module: string) => `${dist}${module}.js`
  const args = [`${here}loaded.mjs`, ...options, ...modules.map(urlOf)]
  const { stdout } = await exec(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 })
  const { errors, imports } = JSON.parse(stdout) as {
    readonly imports: ReadonlyArray<Import>
    readonly errors: Readonly<Record<string, string>>
  }
  const importsOf = new Map<string, Array<string>>()
  for (const { importer, url } of imports) importsOf.set(importer, [...(importsOf.get(importer) ?? []), url])
  return (module) => {
    const urls = new Set([urlOf(module)])
    for (const url of urls) for (const imported of importsOf.get(url) ?? []) urls.add(imported)
    const own = [...urls].filter((url) => url.startsWith(dist))
    const error = errors[urlOf(module)]
    return {
      packages: sorted(own.flatMap((url) => importsOf.get(url) ?? []).map(packageOf)),
      own: sorted(own.map((url) => roomOf(url.slice(dist.length)))),
      all: sorted([...urls].map(packageOf)),
      builtin: sorted([...urls].filter((url) => url.startsWith("node:"))),
      ...(error !== undefined && { error })
    }
  }
}

/** Modules that only some hosts need: drivers, tools for tests, and the parts of our own server and command line. */
const heavy = [
  "@effect/sql-pg",
  "@effect/vitest",
  "@electric-sql/pglite",
  "amqplib",
  "effect/cli",
  "effect/cluster",
  "vitest"
]

const entries = [
  {
    entry: "index",
    packages: [
      ...["@cfworker/json-schema", "@effect/platform-node", "@jmespath-community/jmespath"],
      ...["effect", "effect/encoding", "effect/http", "effect/http-api", "effect/observability", "effect/schema"],
      ...["effect/sql", "ipaddr.js", "liquidjs", "marked", "standardwebhooks", "tinyqueue", "uuid"]
    ],
    own: [
      ...[
        "api",
        "bus",
        "domain",
        "engine",
        "http",
        "index.js",
        "repo",
        "repo/database",
        "runtime",
        "settings",
        "telemetry"
      ]
    ],
    heavy: []
  },
  {
    entry: "api/index",
    packages: ["effect", "effect/http", "effect/http-api", "effect/schema", "uuid"],
    own: ["api", "domain"],
    heavy: []
  },
  {
    entry: "leader/index",
    // To check answers, and to read options as a shell does.
    packages: ["@cfworker/json-schema", "effect", "effect/encoding", "string-argv", "undici", "uuid"],
    own: ["bus", "bus/http", "domain", "leader", "runtime", "telemetry"],
    heavy: []
  },
  {
    entry: "testing",
    packages: [
      ...["@cfworker/json-schema", "@effect/sql-pg", "@jmespath-community/jmespath"],
      ...["effect", "effect/reactivity", "effect/schema", "effect/sql", "effect/testing"],
      ...["ipaddr.js", "liquidjs", "marked", "nanotar", "standardwebhooks", "tinyqueue", "uuid"]
    ],
    own: ["bus", "domain", "engine", "repo", "repo/database", "runtime", "settings", "telemetry", "testing.js"],
    heavy: ["@effect/sql-pg"]
  },
  {
    entry: "amqp",
    packages: ["amqplib", "effect", "uuid"],
    own: ["amqp.js", "bus", "bus/amqp", "domain", "runtime", "telemetry"],
    heavy: ["amqplib"]
  },
  {
    entry: "postgres",
    packages: ["@effect/sql-pg", "effect", "effect/reactivity", "effect/schema", "effect/sql", "uuid"],
    own: ["domain", "postgres.js", "repo", "repo/database", "runtime", "telemetry"],
    heavy: ["@effect/sql-pg"]
  },
  {
    entry: "pglite",
    // PGlite itself is loaded with the layer.
    packages: ["@effect/sql-pg", "effect", "effect/reactivity", "effect/schema", "effect/sql", "nanotar", "uuid"],
    own: ["domain", "pglite.js", "repo", "repo/database", "runtime", "telemetry"],
    heavy: ["@effect/sql-pg"]
  }
]

let loadedWith: Awaited<ReturnType<typeof load>>
beforeAll(async () => {
  loadedWith = await load(entries.map(({ entry }) => entry))
})

describe("an entry of the package", () => {
  it.each(entries)("$entry loads only what it is for", ({ entry, packages, own, heavy: expected }) => {
    const loaded = loadedWith(entry)
    expect(loaded.packages).toEqual(packages)
    expect(loaded.own).toEqual(own)
    expect(loaded.all.filter((name) => heavy.includes(name))).toEqual(expected)
    expect(loaded.error).toBeUndefined()
  })

  it("api/index runs in a browser, with no module of Node's", async () => {
    const loaded = (await load(["api/index"], "--conditions=browser"))("api/index")
    expect(loaded.error).toBeUndefined()
    expect(loaded.builtin).toEqual([])
    expect(loaded.packages).toContain("effect/http-api")
  })
})
