/** The `doctor` command without an agent, on a real PostgreSQL and RabbitMQ. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { replicaOf } from "../repo/Replica.ts"
import { emptyDatabase, freshVhost, managementUrl } from "../support/fresh.ts"
import { describe, expect, it } from "../support/It.ts"
import { certificate, mailServer } from "../support/MailServer.ts"
import { pgBouncer } from "../support/PgBouncer.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { freePort } from "../support/Process.ts"
import { encryptedDatabase, temporaryFolder } from "../support/private.ts"
import { manage } from "../support/RabbitMq.ts"
import { runWith } from "./CommandLine.ts"
import { run } from "./Program.ts"

const changed = (url: string, change: (url: URL) => void): string => {
  const copy = new URL(url)
  change(copy)
  return copy.href
}

/** The results of the checks, by name, and what the command says to do. */
const examine = (variables: Readonly<Record<string, string>>) =>
  // Node reads a file of certificates only when it starts.
  Effect.map(
    variables.NODE_EXTRA_CA_CERTS ? run(["doctor"], variables) : runWith(variables, "doctor"),
    ({ code, stderr, stdout }) => ({
      code,
      stderr,
      found: Object.fromEntries(
        [...stdout.matchAll(/^(?:database|broker|mail server) (.+?) {2,}(yes|no|unknown)/gm)].map(
          ([, what, result]) => [what, result]
        )
      )
    })
  )

const yes = (...names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, "yes"]))

describe("doctor without an agent", () => {
  it.live("finds a database and a broker that a server can use, and declares the server's queues", function* () {
    const [DATABASE_URL, AMQP_URL] = [yield* emptyDatabase, yield* freshVhost]
    const { code, stderr, stdout } = yield* runWith({ DATABASE_URL, AMQP_URL }, "doctor")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(
      /^database reached +yes .*\ndatabase signed in +yes .*\ndatabase version +yes +\d.*\ndatabase rights +yes +the tables will be created\ndatabase notifications +yes\nbroker reached +yes .*\nbroker signed in +yes\nbroker rights +yes\nbroker queues +yes\nbroker version +(yes +\d[\d.]+|warning +RabbitMQ 3\..*consumer_timeout.*)\n$/
    )
    const vhost = new URL(AMQP_URL).pathname.slice(1)
    const queues = (yield* Effect.promise(async () =>
      (await manage(managementUrl(), "GET", `/api/queues/${vhost}`)).json()
    )) as ReadonlyArray<{ readonly name: string }>
    expect(queues.map(({ name }) => name)).toContain("webhook.replies.inbox")
    const other = yield* examine({ AMQP_URL, AMQP_QUEUE_TYPE: "quorum" })
    expect(other.found).toEqual({ ...yes("reached", "signed in", "rights"), queues: "no" })
    expect(other.stderr).toContain("AMQP_QUEUE_TYPE")
  })

  it.live("says what a database lacks, and what to do about it", function* () {
    const url = yield* emptyDatabase
    const port = yield* Effect.promise(() => freePort())
    const absent = yield* examine({ DATABASE_URL: changed(url, (url) => (url.port = String(port))) })
    expect(absent.found).toEqual({
      reached: "no",
      "signed in": "unknown",
      version: "unknown",
      rights: "unknown",
      notifications: "unknown"
    })
    expect(absent.stderr).toContain("Check that PostgreSQL runs")
    const unknown = yield* examine({ DATABASE_URL: changed(url, (url) => (url.pathname = "/no_such_database")) })
    expect(unknown.found).toEqual({
      reached: "yes",
      "signed in": "no",
      version: "unknown",
      rights: "unknown",
      notifications: "unknown"
    })
    expect(unknown.stderr).toContain("createdb")

    const user = `${new URL(url).pathname.slice(1)}_user`
    yield* Effect.acquireRelease(
      Effect.promise(() => queryPostgres(url, `create role ${user} login password 'secret'`)),
      () => Effect.promise(() => queryPostgres(url, `drop role ${user}`))
    )
    const asUser = changed(url, (url) => {
      url.username = user
      url.password = "secret"
    })
    const powerless = yield* examine({ DATABASE_URL: asUser })
    expect(powerless.found).toEqual({
      ...yes("reached", "signed in", "version"),
      rights: "no",
      notifications: "unknown"
    })
    expect(powerless.stderr).toContain(`to ${user}`)
    yield* Effect.promise(() => queryPostgres(url, "create schema webhook_trigger"))
    const foreign = yield* examine({ DATABASE_URL: asUser })
    expect(foreign.found).toEqual({
      ...yes("reached", "signed in", "version"),
      rights: "no",
      notifications: "unknown"
    })
    for (const { code, stderr } of [absent, unknown, powerless, foreign]) {
      expect(code).toBe(1)
      expect(stderr).toMatch(/^A server cannot work with these settings: /)
      expect(stderr).not.toContain("secret")
    }
  })

  it.live("says what the URL of an encrypted database lacks", function* () {
    const pair = certificate()
    const folder = yield* temporaryFolder
    const sslrootcert = join(folder, "ca.pem")
    writeFileSync(sslrootcert, pair.cert)
    const encrypted = (yield* encryptedDatabase(pair)).replace("127.0.0.1", "localhost")
    const plain = yield* emptyDatabase
    for (const [url, advice] of [
      [encrypted, "Add sslmode=require"],
      [`${encrypted}?sslmode=require`, "sslrootcert=/path/ca.pem"],
      [`${encrypted}?sslrootcert=system&sslmode=verify-full`, "sslrootcert=/path/ca.pem"],
      [`${encrypted.replace("localhost", "127.0.0.1")}?sslrootcert=${sslrootcert}`, "a host name of the certificate"],
      [`${plain}?sslmode=require`, "Remove sslmode"]
    ] as const) {
      const { code, found, stderr } = yield* examine({ DATABASE_URL: url })
      expect({ code, reached: found.reached }, url).toEqual({ code: 1, reached: "no" })
      expect(stderr).toContain(advice)
      // The server does not wait for half a minute: that would not help.
      const refused = yield* Effect.flip(replicaOf(url))
      expect(refused.detail).toContain(advice)
    }
    for (const parameters of [
      "sslmode=no-verify",
      `sslrootcert=${sslrootcert}`,
      "sslmode=require&uselibpqcompat=true"
    ]) {
      const { found } = yield* examine({ DATABASE_URL: `${encrypted}?${parameters}` })
      expect(found, parameters).toEqual(yes("reached", "signed in", "version", "rights", "notifications"))
    }
    for (const [parameters, fault] of [
      ["sslmode=bogus", "disable, prefer, require, verify-ca, verify-full, no-verify, not bogus"],
      ["sslrootcert=/nowhere/ca.pem", "/nowhere/ca.pem is not (ENOENT)"],
      ["sslnegotiation=sometimes", "sslnegotiation"]
    ] as const) {
      const { code, stderr } = yield* examine({ DATABASE_URL: `${encrypted}?${parameters}` })
      expect(code).toBe(2)
      expect(stderr).toContain("DATABASE_URL")
      expect(stderr).toContain(fault)
    }
  })

  it.live("says that a database is read-only, and uses the settings of the server's sessions", function* () {
    const url = yield* emptyDatabase
    const database = new URL(url).pathname.slice(1)
    yield* Effect.promise(() => queryPostgres(url, `alter database ${database} set default_transaction_read_only = on`))
    const { found, stderr } = yield* examine({ DATABASE_URL: url })
    expect(found).toEqual({ ...yes("reached", "signed in", "version"), rights: "no", notifications: "unknown" })
    expect(stderr).toContain("default_transaction_read_only")
    const { found: pooled } = yield* examine({ DATABASE_URL: yield* pgBouncer(yield* emptyDatabase) })
    expect(pooled).toEqual(yes("reached", "signed in", "version", "rights", "notifications"))
    const shared = yield* examine({ DATABASE_URL: yield* pgBouncer(yield* emptyDatabase, "transaction") })
    expect(shared.found).toEqual({ ...yes("reached", "signed in", "version", "rights"), notifications: "no" })
    expect(shared.stderr).toContain("pool_mode = session")
  })

  it.live("says what a broker lacks, and what to do about it", function* () {
    const url = yield* freshVhost
    const port = yield* Effect.promise(() => freePort())
    const absent = yield* examine({ AMQP_URL: changed(url, (url) => (url.port = String(port))) })
    expect(absent.found).toEqual({ reached: "no", "signed in": "unknown", rights: "unknown", queues: "unknown" })
    const stranger = yield* examine({ AMQP_URL: changed(url, (url) => (url.password = "wrong-one")) })
    expect(stranger.found).toEqual({ reached: "yes", "signed in": "no", rights: "unknown", queues: "unknown" })
    expect(stranger.stderr).toContain("the password in AMQP_URL")
    const elsewhere = yield* examine({ AMQP_URL: changed(url, (url) => (url.pathname = "/no-such-host")) })
    expect(elsewhere.found).toEqual({ reached: "yes", "signed in": "yes", rights: "no", queues: "unknown" })

    const vhost = new URL(url).pathname.slice(1)
    const user = `${vhost}-user`
    yield* Effect.acquireRelease(
      Effect.promise(() => manage(managementUrl(), "PUT", `/api/users/${user}`, { password: "secret", tags: "" })),
      () => Effect.promise(() => manage(managementUrl(), "DELETE", `/api/users/${user}`))
    )
    const rights = { configure: "^$", write: ".*", read: ".*" }
    yield* Effect.promise(() => manage(managementUrl(), "PUT", `/api/permissions/${vhost}/${user}`, rights))
    const powerless = yield* examine({
      AMQP_URL: changed(url, (url) => {
        url.username = user
        url.password = "secret"
      })
    })
    expect(powerless.found).toEqual({ reached: "yes", "signed in": "yes", rights: "no", queues: "unknown" })
    for (const { code, stderr } of [absent, stranger, elsewhere, powerless]) {
      expect(code).toBe(1)
      expect(stderr).not.toMatch(/wrong-one|secret/)
    }
  })

  it.live("says what a mail server lacks, and what to do about it", function* () {
    const { ca, received, url } = yield* mailServer({ login: { user: "hooks", password: "secret" } })
    const folder = mkdtempSync(join(tmpdir(), "doctor-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
    const NODE_EXTRA_CA_CERTS = join(folder, "ca.pem")
    writeFileSync(NODE_EXTRA_CA_CERTS, ca)
    const found = yield* examine({ SMTP_URL: url, NODE_EXTRA_CA_CERTS })
    expect(found).toMatchObject({ code: 0, stderr: "", found: yes("reached", "signed in") })
    const stranger = yield* examine({ SMTP_URL: url.replace("secret", "secret-2"), NODE_EXTRA_CA_CERTS })
    expect(stranger).toMatchObject({ code: 1, found: { reached: "yes", "signed in": "no" } })
    expect(stranger.stderr).toContain("the password in SMTP_URL")
    const unknown = yield* examine({ SMTP_URL: url })
    expect(unknown).toMatchObject({ code: 1, found: { reached: "no", "signed in": "unknown" } })
    expect(unknown.stderr).toContain("smtps for port 465")
    for (const { stderr } of [stranger, unknown]) expect(stderr).not.toContain("secret")
    expect(received).toEqual([])
  })

  it.live("needs an agent, a database, a broker or a mail server", function* () {
    const { code, stderr } = yield* runWith({}, "doctor")
    expect(code).toBe(2)
    expect(stderr).toContain("set DATABASE_URL, AMQP_URL, SMTP_URL, WEBHOOK_FILES_S3 or OIDC_ISSUER")
  })
})
