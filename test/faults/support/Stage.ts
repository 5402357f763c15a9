/** What a fault test plays on: a database and a virtual host of its own, servers, leaders and callers, all gone at the end. */
import { randomBytes } from "node:crypto"
import { chmodSync, mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "amqplib"
import { expect, inject, test } from "vitest"
import { type PostgresServer, queryPostgres, startPostgres } from "../../support/Postgres.ts"
import { cleanUpAtExit } from "../../support/Process.ts"
import { createVhost, deleteVhost, manage, type RabbitMqServer, startRabbitMq } from "../../support/RabbitMq.ts"
import type {} from "../../support/services.ts"
import { Callers, type Hook } from "./Callers.ts"
import { check, type Evidence, type Row } from "./Checker.ts"
import { Proxy } from "./Proxy.ts"
import { type Delivered, queueType, RecordingLeader } from "./RecordingLeader.ts"
import { type Arm, Replica } from "./Replica.ts"
import { until } from "./Until.ts"

const adminKey = "fault-tests-admin-key"

export interface HookDraft {
  readonly team: string
  readonly timeout_seconds?: number
  readonly max_concurrent?: number
}

export interface Services {
  readonly databaseUrl: string
  readonly amqpUrl: string
  readonly managementUrl: string
}

/** A database server and a broker that tests may break; they start side by side. */
export const privateServices = async (which: { readonly postgres?: boolean; readonly rabbitmq?: boolean }) => {
  const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-faults-"))
  // PostgreSQL runs as another user and must reach its folder.
  chmodSync(dir, 0o755)
  const cleanUp = cleanUpAtExit(dir)
  const [postgres, rabbitmq] = await Promise.all([
    which.postgres ? startPostgres({ dir: join(dir, "postgres") }) : undefined,
    which.rabbitmq ? startRabbitMq({ dir: join(dir, "rabbitmq") }) : undefined
  ])
  return {
    postgres: postgres as PostgresServer,
    rabbitmq: rabbitmq as RabbitMqServer,
    services: {
      databaseUrl: postgres?.url ?? inject("databaseUrl"),
      amqpUrl: rabbitmq?.url ?? inject("amqpUrl"),
      managementUrl: rabbitmq?.managementUrl ?? inject("amqpManagementUrl")
    } satisfies Services,
    close: async () => {
      await Promise.all([postgres?.stop(), rabbitmq?.dispose()])
      await cleanUp()
    }
  }
}

export class Stage {
  readonly dir: string
  readonly callers = new Callers()
  readonly deliveries: Array<Delivered> = []
  readonly replicas: Array<Replica> = []
  readonly leaders: Array<RecordingLeader> = []
  private readonly endings: Array<() => Promise<unknown>> = []
  private services!: Services
  databaseUrl = ""
  amqpUrl = ""
  /** What the servers wrote at last; for a test that failed. */
  lastWords = ""

  private constructor() {
    this.dir = mkdtempSync(join(tmpdir(), "webhook-trigger-stage-"))
  }

  static async open(given?: Services): Promise<Stage> {
    const stage = new Stage()
    stage.services = given ?? {
      databaseUrl: inject("databaseUrl"),
      amqpUrl: inject("amqpUrl"),
      managementUrl: inject("amqpManagementUrl")
    }
    const name = `fault_${randomBytes(6).toString("hex")}`
    const { databaseUrl, amqpUrl, managementUrl } = stage.services
    await queryPostgres(databaseUrl, `CREATE DATABASE ${name}`)
    const url = new URL(databaseUrl)
    url.pathname = `/${name}`
    stage.databaseUrl = url.href
    stage.atEnd(() => queryPostgres(databaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
    stage.amqpUrl = await createVhost(amqpUrl, managementUrl, name)
    stage.atEnd(() => deleteVhost(managementUrl, name))
    return stage
  }

  /** Done at the end, the last first. */
  atEnd(ending: () => Promise<unknown>): void {
    this.endings.push(ending)
  }

  async close(): Promise<void> {
    this.lastWords = this.replicas.map((replica) => `--- ${replica.url}\n${replica.tail()}`).join("\n")
    this.callers.close()
    await Promise.all(this.replicas.map((replica) => replica.kill()))
    await Promise.all(this.leaders.map((leader) => leader.crash()))
    for (const end of this.endings.reverse())
      await end().catch((error) => console.error("at the end of a test:", error))
    await rm(this.dir, { recursive: true, force: true })
  }

  /** A proxy in front of the broker or the database, for `server({ through })`. */
  async proxy(which: "broker" | "database"): Promise<Proxy> {
    const proxy = await Proxy.of(which === "broker" ? this.amqpUrl : this.databaseUrl)
    this.atEnd(() => proxy.close())
    return proxy
  }

  /** A replica of the server, started; `env` overrides its settings. */
  async server(
    options: {
      readonly env?: Readonly<Record<string, string>>
      readonly arms?: ReadonlyArray<Arm>
      readonly broker?: Proxy
      readonly database?: Proxy
      readonly started?: boolean
    } = {}
  ): Promise<Replica> {
    const replica = await Replica.make(this.dir, {
      DATABASE_URL: options.database?.through(this.databaseUrl) ?? this.databaseUrl,
      AMQP_URL: options.broker?.through(this.amqpUrl) ?? this.amqpUrl,
      AMQP_QUEUE_TYPE: queueType,
      ADMIN_API_KEY: adminKey,
      DATA_DIR: this.dir,
      LOG_FORMAT: "logfmt",
      LOG_LEVEL: "info",
      WEBHOOK_TIMEOUT: "60",
      ...options.env
    })
    this.replicas.push(replica)
    if (options.started !== false) await replica.start({ arms: options.arms ?? [] })
    return replica
  }

  /** A team's leader, consuming. */
  async leader(
    team: string,
    options: Omit<ConstructorParameters<typeof RecordingLeader>[0], "url" | "team" | "log"> = {}
  ): Promise<RecordingLeader> {
    const leader = new RecordingLeader({ ...options, url: this.amqpUrl, team, log: this.deliveries })
    this.leaders.push(leader)
    return leader.start()
  }

  /** A request to the management API; dies on any other status than those expected. */
  async manage(
    server: { readonly url: string },
    method: string,
    path: string,
    body?: unknown,
    expected: ReadonlyArray<number> = [200, 201, 204]
  ): Promise<any> {
    const answer = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000)
    })
    const text = await answer.text()
    if (!expected.includes(answer.status)) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === "" ? undefined : JSON.parse(text)
  }

  /** A webhook whose prompt is the caller's nonce; the team is made when it is not there. */
  async hook(server: { readonly url: string }, draft: HookDraft): Promise<Hook> {
    await this.manage(server, "POST", "/api/teams", { team: draft.team }, [201, 409])
    const made = await this.manage(server, "POST", "/api/webhooks", {
      name: `to ${draft.team}`,
      prompt_template: "{{nonce}}",
      ...draft
    })
    return { id: made.webhook.id, token: made.token, team: draft.team }
  }

  /** The most usual stage: one server, one team with its leader, one webhook. */
  async one(draft: Partial<HookDraft> = {}, options: Parameters<Stage["server"]>[0] = {}) {
    const server = await this.server(options)
    const team = draft.team ?? "deploy"
    const hook = await this.hook(server, { ...draft, team })
    const leader = await this.leader(team)
    await this.running(server, team)
    return { server, hook, leader }
  }

  /** Waits until the server sees that the team has a leader. */
  async running(server: { readonly url: string }, team: string): Promise<void> {
    await until(`team ${team} is seen to run`, async () => {
      return (await this.manage(server, "GET", `/api/teams/${team}`)).running === true
    })
  }

  async rows(): Promise<ReadonlyArray<Row>> {
    return (await queryPostgres(
      this.databaseUrl,
      `select id, webhook_id, team, mode, status, prompt, response, error_code,
         accepted_at, admitted_at, sent_at, started_at, finished_at
       from webhook_trigger.runs order by seq`
    )) as unknown as ReadonlyArray<Row>
  }

  query(sql: string): Promise<ReadonlyArray<Record<string, unknown>>> {
    return queryPostgres(this.databaseUrl, sql)
  }

  /** Waits until `count` runs (all that are there, when absent) have ended; returns all rows. */
  async settled(count?: number, ms = 30_000): Promise<ReadonlyArray<Row>> {
    let seen: ReadonlyArray<Row> = []
    const done = async () => {
      const [{ live, all } = {}] = (await this.query(
        `select count(*) filter (where finished_at is null)::int as live, count(*)::int as all from webhook_trigger.runs`
      ).catch(() => [])) as ReadonlyArray<{ live?: number; all?: number }>
      return live === 0 && all! >= (count ?? 0)
    }
    try {
      await until("all runs have ended", done, ms, 100)
    } finally {
      seen = await this.rows()
    }
    return seen
  }

  /** Waits for the end of all runs, then asks the checker; returns the rows. */
  async checked(
    options: Partial<Evidence> & { readonly count?: number; readonly settleMs?: number } = {}
  ): Promise<ReadonlyArray<Row>> {
    const { count, settleMs, ...evidence } = options
    let late: string | undefined
    await this.settled(count, settleMs).catch((error) => {
      late = error.message
    })
    const rows = await this.rows()
    const broken = check({
      calls: this.callers.calls,
      deliveries: this.deliveries,
      overlaps: this.leaders.flatMap((leader) => leader.overlaps),
      rows,
      ...evidence
    })
    expect([...(late ? [late] : []), ...broken.slice(0, 20)]).toEqual([])
    return rows
  }

  /** How many messages of the queue are with nobody. */
  async ready(queue: string): Promise<number> {
    const model = await connect(this.amqpUrl, { noDelay: true })
    model.on("error", () => {})
    try {
      const channel = await model.createChannel()
      channel.on("error", () => {})
      return (await channel.checkQueue(queue)).messageCount
    } finally {
      await model.close()
    }
  }

  /** The broker's management API, for the test's virtual host: `/api/queues/<vhost>`… */
  broker(method: string, path: string, body?: unknown): Promise<Response> {
    const vhost = new URL(this.amqpUrl).pathname.slice(1)
    return manage(this.services.managementUrl, method, path.replace("<vhost>", vhost), body)
  }
}

/** A fault test on a stage of its own with the shared services. */
export const row = test.extend<{ stage: Stage }>({
  stage: async ({ onTestFailed }, use) => {
    const stage = await Stage.open()
    onTestFailed(() => console.error(stage.lastWords))
    await use(stage)
    await stage.close()
  }
})

/** The same with services that the file starts and breaks. */
export const rowOn = (services: () => Services) =>
  test.extend<{ stage: Stage }>({
    stage: async ({ onTestFailed }, use) => {
      const stage = await Stage.open(services())
      onTestFailed(() => console.error(stage.lastWords))
      await use(stage)
      await stage.close()
    }
  })
