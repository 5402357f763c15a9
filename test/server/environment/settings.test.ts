import { readFileSync } from "node:fs"
import { ConfigProvider, Duration, Effect, Option, Redacted } from "effect"
import * as SettingsConfig from "../../../src/engine/SettingsConfig.ts"
import * as Environment from "../../../src/server/environment/Environment.ts"
import * as FilesEnvironment from "../../../src/server/environment/FilesEnvironment.ts"
import * as MailEnvironment from "../../../src/server/environment/MailEnvironment.ts"
import { refusedServer } from "../../cli/CommandLine.ts"
import { describe, expect, it } from "../../support/It.ts"
import { faults, loaded } from "./Load.ts"

const docs = readFileSync(new URL("../../../docs/reference/settings.md", import.meta.url), "utf8")

describe("settings", () => {
  it.effect("have the documented defaults when no variable is set", function* () {
    const settings = yield* loaded({})
    expect(settings).toMatchObject({ host: "127.0.0.1", port: 8080, dataDir: "data" })
    expect(settings.amqpQueueType).toBe("classic")
    expect(settings.engine).toMatchObject({
      maxConcurrent: 20,
      maxQueued: 10_000,
      maxBody: 1024 * 1024,
      resendRunning: false
    })
    expect(Duration.toSeconds(settings.engine.timeout)).toBe(300)
    expect(Duration.toSeconds(settings.shutdownGrace)).toBe(30)
    expect(Option.map(settings.runRetention, Duration.toDays)).toEqual(Option.some(90))
    expect(Option.map(settings.stepsRetention, Duration.toDays)).toEqual(Option.some(30))
    expect(settings.logLevel).toBe("Info")
    for (const absent of [
      "publicUrl",
      "databaseUrl",
      "amqpUrl",
      "smtpUrl",
      "smtpFrom",
      "adminKey",
      "adminListen",
      "adminAllowFrom",
      "leaderDrain",
      "otlpEndpoint",
      "otlpHeaders"
    ] as const) {
      expect(settings[absent]._tag, absent).toBe("None")
    }
  })

  it.effect("refuse a database URL that no connection can be opened with, and name its parameter", function* () {
    const fault = (parameters: string) =>
      Effect.map(faults({ DATABASE_URL: `postgres://u:secret@db/x?${parameters}` }), (found) => JSON.stringify(found))
    expect(yield* fault("sslmode=require")).toBe("[]")
    expect(yield* fault("sslmode=verify-full&sslrootcert=system&channel_binding=require")).toBe("[]")
    for (const [name, value] of [
      ["sslmode", "bogus"],
      ["sslrootcert", "/nowhere/ca.pem"],
      ["sslkey", "/nowhere/key.pem"]
    ] as const) {
      expect(yield* fault(`${name}=${value}`)).toMatch(new RegExp(`DATABASE_URL.*${name}.*${value}`))
    }
    expect(yield* fault("sslmode=bogus")).not.toContain("secret")
  })

  it.effect("are all read from their variables", function* () {
    const settings = yield* loaded({
      HOST: "0.0.0.0",
      PORT: "0",
      PUBLIC_URL: "https://hooks.example.com/base/",
      TRUSTED_PROXIES: "10.0.0.0/8, ::1",
      MAX_CONNECTIONS: "1000",
      MAX_CONNECTIONS_PER_ADDRESS: "50",
      DATABASE_URL: "postgres://u:p@db/hooks",
      SMTP_URL: "smtps://u:p%40@mail.example.com",
      SMTP_FROM: "Web hooks <hooks@example.com>",
      AMQP_URL: "amqps://u:p@mq/vhost",
      AMQP_QUEUE_TYPE: "quorum",
      DATA_DIR: "/var/lib/hooks",
      ADMIN_API_KEY: "a-key-of-enough-length",
      WEBHOOK_MAX_CONCURRENT: "7",
      WEBHOOK_TIMEOUT: "90",
      WEBHOOK_MAX_QUEUED: "5",
      WEBHOOK_MAX_BODY: "64 KiB",
      WEBHOOK_MAX_BODIES: "1 GiB",
      RESEND_RUNNING: "true",
      THREAD_IDLE: "2 days",
      RUN_RETENTION: "30 days",
      STEPS_RETENTION: "12 hours",
      AUDIT_RETENTION: "30 days",
      AUDIT_LOG: "stdout",
      ADMIN_LISTEN: "10.0.0.5:9090",
      ADMIN_ALLOW_FROM: "192.0.2.7, fd00::/8",
      MCP_ALLOWED_ORIGINS: "https://inspector.example.com, http://localhost:6274",
      METRICS_TOKEN: "a-token-of-enough-length",
      API_DOCS: "false",
      SHUTDOWN_GRACE: "0",
      LEADER_DRAIN: "1 hour",
      LOG_LEVEL: "Warn",
      LOG_FORMAT: "json",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
      OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Bearer%20key, x-tenant=a=b",
      OTEL_SERVICE_NAME: "hooks"
    })
    expect(settings).toMatchObject({
      host: "0.0.0.0",
      port: 0,
      publicUrl: Option.some("https://hooks.example.com/base"),
      trustedProxies: ["10.0.0.0/8", "::1"],
      amqpQueueType: "quorum",
      dataDir: "/var/lib/hooks",
      engine: { maxConcurrent: 7, maxQueued: 5, maxBody: 65_536, maxBodies: 1024 ** 3 },
      maxConnections: Option.some(1000),
      maxConnectionsPerAddress: Option.some(50),
      adminListen: Option.some({ host: "10.0.0.5", port: 9090 }),
      adminAllowFrom: Option.some(["192.0.2.7", "fd00::/8"]),
      mcpAllowedOrigins: ["https://inspector.example.com", "http://localhost:6274"],
      apiDocs: false,
      auditToStdout: true,
      logLevel: "Warn",
      logFormat: "json",
      otlpEndpoint: Option.some("http://collector:4318"),
      otlpServiceName: "hooks"
    })
    expect(Option.map(settings.otlpHeaders, Redacted.value)).toEqual(
      Option.some({ authorization: "Bearer key", "x-tenant": "a=b" })
    )
    expect(Option.map(settings.databaseUrl, Redacted.value)).toEqual(Option.some("postgres://u:p@db/hooks"))
    expect(Option.map(settings.amqpUrl, Redacted.value)).toEqual(Option.some("amqps://u:p@mq/vhost"))
    expect(Option.map(settings.adminKey, Redacted.value)).toEqual(Option.some("a-key-of-enough-length"))
    expect(Option.map(settings.smtpUrl, Redacted.value)).toEqual(Option.some("smtps://u:p%40@mail.example.com"))
    expect(settings.smtpFrom).toEqual(Option.some({ name: "Web hooks", address: "hooks@example.com" }))
    expect(Duration.toSeconds(settings.engine.timeout)).toBe(90)
    expect(Option.map(settings.engine.threadIdle, Duration.toHours)).toEqual(Option.some(48))
    expect(Option.map(settings.runRetention, Duration.toHours)).toEqual(Option.some(720))
    expect(Option.map(settings.stepsRetention, Duration.toHours)).toEqual(Option.some(12))
    expect(Option.map(settings.auditRetention, Duration.toDays)).toEqual(Option.some(30))
    expect(Duration.toMillis(settings.shutdownGrace)).toBe(0)
    expect(Option.map(settings.leaderDrain, Duration.toMinutes)).toEqual(Option.some(60))
  })

  it.effect("are all explained in docs/reference/settings.md", function* () {
    const read = new Set<string>()
    const recording = ConfigProvider.mapInput(ConfigProvider.fromEnv({ env: {} }), (path) => {
      read.add(path.join("_"))
      return path
    })
    yield* Effect.provideService(Environment.load, ConfigProvider.ConfigProvider, recording)
    expect(read.size).toBeGreaterThan(10)
    for (const name of read) expect(docs, name).toContain(`\n| \`${name}\` | `)
  })

  it.effect("name origins exactly: a wildcard is refused", function* () {
    for (const given of ["*", "null", "https://*.example.com"]) {
      const found = yield* faults({ MCP_ALLOWED_ORIGINS: given })
      expect(found.map(({ given, name }) => [name, given])).toEqual([["MCP_ALLOWED_ORIGINS", given]])
    }
  })

  it.effect(
    "that are invalid are all reported together, each by name with what it accepts and what was given",
    function* () {
      const found = yield* faults({
        PORT: "80a",
        PUBLIC_URL: "hooks.example.com",
        TRUSTED_PROXIES: "10.0.0.0/8, proxy.local",
        AMQP_QUEUE_TYPE: "fast",
        ADMIN_LISTEN: "localhost",
        ADMIN_ALLOW_FROM: "office",
        MCP_ALLOWED_ORIGINS: "https://inspector.example.com/mcp",
        WEBHOOK_MAX_CONCURRENT: "0",
        WEBHOOK_TIMEOUT: "5 fortnights",
        WEBHOOK_MAX_QUEUED: "-1",
        WEBHOOK_MAX_BODY: "much",
        THREAD_IDLE: "1 second",
        RUN_RETENTION: "never",
        STEPS_RETENTION: "1 second",
        AUDIT_RETENTION: "1 hour",
        AUDIT_LOG: "file",
        SHUTDOWN_GRACE: "2 days",
        LEADER_DRAIN: "2 days",
        LOG_LEVEL: "loud",
        LOG_FORMAT: "xml",
        SMTP_FROM: "Web hooks",
        OTEL_EXPORTER_OTLP_ENDPOINT: "collector"
      })
      expect(found.map(({ given, name }) => [name, given])).toEqual([
        ["PORT", "80a"],
        ["PUBLIC_URL", "hooks.example.com"],
        ["TRUSTED_PROXIES", "10.0.0.0/8, proxy.local"],
        ["ADMIN_LISTEN", "localhost"],
        ["ADMIN_ALLOW_FROM", "office"],
        ["MCP_ALLOWED_ORIGINS", "https://inspector.example.com/mcp"],
        ["SMTP_FROM", "Web hooks"],
        ["WEBHOOK_MAX_CONCURRENT", "0"],
        ["WEBHOOK_TIMEOUT", "5 fortnights"],
        ["WEBHOOK_MAX_QUEUED", "-1"],
        ["WEBHOOK_MAX_BODY", "much"],
        ["THREAD_IDLE", "1 second"],
        ["RUN_RETENTION", "never"],
        ["STEPS_RETENTION", "1 second"],
        ["AUDIT_RETENTION", "1 hour"],
        ["AUDIT_LOG", "file"],
        ["SHUTDOWN_GRACE", "2 days"],
        ["AMQP_QUEUE_TYPE", "fast"],
        ["LOG_LEVEL", "loud"],
        ["LOG_FORMAT", "xml"],
        ["LEADER_DRAIN", "2 days"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector"]
      ])
      for (const { accepts, name } of found) expect(accepts, name).toMatch(/^takes .+/)
    }
  )

  it.effect("of a mail server are an address with its login, which TLS protects, and a sender", function* () {
    const SMTP_FROM = "hooks@example.com"
    const servers = {
      "smtp://u:p%40%3A@mail.example.com": {
        ...{ host: "mail.example.com", port: 587, tls: "starttls" },
        login: { user: "u", password: "p@:" }
      },
      "smtps://mail.example.com": { host: "mail.example.com", port: 465, tls: "implicit" },
      "smtp://[::1]:2525?tls=off": { host: "::1", port: 2525, tls: "off" }
    }
    for (const [SMTP_URL, server] of Object.entries(servers)) {
      const found = MailEnvironment.mailSettings(yield* loaded({ SMTP_URL, SMTP_FROM }))
      expect(found).toEqual(Option.some({ server, from: { name: "", address: SMTP_FROM } }))
    }
    const wrong = [
      "smtp://u@mail",
      "smtps://mail?tls=off",
      "smtp://mail/x",
      "smtp://u:p@mail?tls=off",
      "mail",
      "smtp://%"
    ]
    for (const SMTP_URL of wrong) expect(yield* faults({ SMTP_URL, SMTP_FROM }), SMTP_URL).toHaveLength(1)
    for (const SMTP_FROM of ["a@b@c", "<hooks@example.com", "A\r\nBcc: x <hooks@example.com>"]) {
      expect(yield* faults({ SMTP_FROM }), SMTP_FROM).toHaveLength(1)
    }
    expect(yield* faults({ SMTP_URL: "smtps://mail.example.com" })).toMatchObject([{ name: "SMTP_FROM" }])
  })

  it.effect("of a bucket are its URL and its key, and all of them are needed", function* () {
    const key = { WEBHOOK_FILES_S3_KEY_ID: "AKID", WEBHOOK_FILES_S3_SECRET: "s3cret" }
    const WEBHOOK_FILES_S3 = "https://s3.example.com:9000/bucket/a/b_c/"
    const found = FilesEnvironment.s3Settings(yield* loaded({ WEBHOOK_FILES_S3, ...key }))
    const ofKey = { keyId: Redacted.make("AKID"), secret: Redacted.make("s3cret") }
    const ofBucket = { url: "https://s3.example.com:9000/bucket/a/b_c", region: "us-east-1" }
    expect(Option.getOrThrow(found)).toEqual({ ...ofKey, ...ofBucket })
    const session = yield* loaded({ WEBHOOK_FILES_S3, ...key, WEBHOOK_FILES_S3_SESSION_TOKEN: "t0ken" })
    const sessionToken = Redacted.make("t0ken")
    expect(FilesEnvironment.s3Settings(session)).toEqual(Option.some({ ...ofKey, ...ofBucket, sessionToken }))
    expect(FilesEnvironment.s3Settings(yield* loaded({}))).toEqual(Option.none())
    const wrong = ["s3://bucket", "bucket", "https://s3", "https://u:p@s3/b", "https://s3/b?x", "https://s3/b/../c"]
    for (const WEBHOOK_FILES_S3 of [...wrong, "https://s3/b//c", "https://s3/b/ü", "https://s3/b/%41"]) {
      expect(yield* faults({ WEBHOOK_FILES_S3, ...key }), WEBHOOK_FILES_S3).toEqual([
        { name: "WEBHOOK_FILES_S3", accepts: expect.stringMatching(/^takes a bucket's URL/) }
      ])
    }
    const alone = yield* faults({ WEBHOOK_FILES_S3 })
    expect(alone.map(({ name }) => name)).toEqual(["WEBHOOK_FILES_S3_KEY_ID", "WEBHOOK_FILES_S3_SECRET"])
    expect(alone[0]?.accepts).toContain("the other WEBHOOK_FILES_S3 settings need it")
    expect(yield* faults(key)).toMatchObject([{ name: "WEBHOOK_FILES_S3" }])
    expect(yield* faults({ WEBHOOK_FILES_S3_REGION: "eu-central-1" })).toHaveLength(3)
  })

  it.effect(
    "of a bucket may be what the cloud gives: a role for a service account, or an endpoint beside the container",
    function* () {
      const WEBHOOK_FILES_S3 = "https://s3.eu-central-1.amazonaws.com/bucket"
      const found = (given: Readonly<Record<string, string>>) =>
        Effect.map(loaded({ WEBHOOK_FILES_S3, AWS_REGION: "eu-central-1", ...given }), (settings) =>
          Option.getOrUndefined(FilesEnvironment.s3Settings(settings))
        )
      const ofBucket = { url: WEBHOOK_FILES_S3, region: "eu-central-1" }
      const role = { AWS_ROLE_ARN: "arn:aws:iam::1:role/r", AWS_WEB_IDENTITY_TOKEN_FILE: "/token" }
      const container = { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://169.254.170.23/v1/credentials" }
      expect(yield* found({ ...role, ...container })).toEqual({
        ...{ ...ofBucket, roleArn: role.AWS_ROLE_ARN, tokenFile: "/token" }
      })
      const file = { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: "/pod" }
      expect(yield* found({ ...container, ...file })).toEqual({
        ...{ ...ofBucket, credentialsUrl: "http://169.254.170.23/v1/credentials", authorizationFile: "/pod" }
      })
      expect(yield* found({ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/v2/a" })).toMatchObject({
        credentialsUrl: "http://169.254.170.2/v2/a"
      })
      const key = { WEBHOOK_FILES_S3_KEY_ID: "AKID", WEBHOOK_FILES_S3_SECRET: "s3cret" }
      // A store that is not the cloud's has its own region.
      expect(yield* found({ ...role, ...key })).toMatchObject({ keyId: Redacted.make("AKID"), region: "us-east-1" })
      const half = yield* faults({ WEBHOOK_FILES_S3, ...role, WEBHOOK_FILES_S3_KEY_ID: "AKID" })
      expect(half).toMatchObject([{ name: "WEBHOOK_FILES_S3_SECRET" }])
      const strange = { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://10.0.0.1/credentials" }
      expect(yield* faults({ WEBHOOK_FILES_S3, ...strange })).toMatchObject([
        { name: "AWS_CONTAINER_CREDENTIALS_FULL_URI" }
      ])
      // Without a bucket, they are for something else.
      for (const of of [role, container, strange]) expect(yield* faults(of)).toEqual([])
    }
  )

  it.effect("are shown by a server that does not start, except those that may be secret", function* () {
    const { stderr } = yield* refusedServer({ PORT: "many", ADMIN_API_KEY: "short" })
    expect(stderr).toMatch(/PORT.*, not "many"/)
    expect(stderr).toMatch(/ADMIN_API_KEY.* \(the value is not shown because it may be secret\)/)
  })

  it.effect("never show a secret, not even an invalid one", function* () {
    const found = yield* faults({
      DATABASE_URL: "mysql://root:hunter2@db/x",
      AMQP_URL: "http://root:hunter2@mq",
      ADMIN_API_KEY: "hunter2",
      SECRETS_KEY: "hunter2",
      SMTP_URL: "smtp://root:hunter2@mail/?tls=off",
      OTEL_EXPORTER_OTLP_HEADERS: "hunter2"
    })
    expect(found.map(({ name }) => name)).toEqual([
      "DATABASE_URL",
      "ADMIN_API_KEY",
      "SECRETS_KEY",
      "SMTP_URL",
      "AMQP_URL",
      "OTEL_EXPORTER_OTLP_HEADERS"
    ])
    expect(JSON.stringify(found)).not.toContain("hunter2")
    for (const ADMIN_API_KEY of ["a-long-key-for-the-schlüssel", "a long key with blanks in it"]) {
      const [fault] = yield* faults({ ADMIN_API_KEY })
      expect(fault).toMatchObject({
        name: "ADMIN_API_KEY",
        accepts: expect.stringContaining("at least 16 characters: ASCII")
      })
      expect(fault).not.toHaveProperty("given")
    }
    const settings = yield* loaded({
      DATABASE_URL: "postgres://root:hunter2@db/x",
      ADMIN_API_KEY: "hunter2hunter2hunter2",
      SECRETS_KEY: `${"68756e74657232".padEnd(64, "0")}, ${Buffer.from("hunter2".padEnd(32)).toString("base64")}`
    })
    const secretKeys = Option.getOrThrow(settings.secretKeys)
    expect(Redacted.value(secretKeys)).toHaveLength(2)
    expect(`${JSON.stringify(settings)} ${String(settings.databaseUrl)}`).not.toContain("hunter2")
  })

  it.effect("that are blank count as absent", function* () {
    const settings = yield* loaded({ PORT: "", DATABASE_URL: "  ", RUN_RETENTION: "off" })
    expect(settings.port).toBe(8080)
    expect(Option.isNone(settings.databaseUrl)).toBe(true)
    expect(Option.isNone(settings.runRetention)).toBe(true)
  })

  it.effect("of the engine can be read on their own, by a host that has no other settings of the server", function* () {
    const read = (variables: Readonly<Record<string, string>>) =>
      Effect.provideService(
        SettingsConfig.config,
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnv({ env: variables })
      )
    expect(yield* read({})).toEqual(SettingsConfig.defaults)
    expect(yield* read({ WEBHOOK_MAX_CONCURRENT: " 7 ", WEBHOOK_TIMEOUT: "", AMQP_QUEUE_TYPE: "fast" })).toEqual({
      ...SettingsConfig.defaults,
      maxConcurrent: 7
    })
    const error = yield* Effect.flip(read({ WEBHOOK_MAX_CONCURRENT: "0", WEBHOOK_TIMEOUT: "soon" }))
    expect(String(error)).toMatch(/takes a whole number from 1 to 10000\n +at \["WEBHOOK_MAX_CONCURRENT"\]/)
    expect(String(error)).toMatch(/takes seconds, or a number with a unit.*\n +at \["WEBHOOK_TIMEOUT"\]/)
  })
})
