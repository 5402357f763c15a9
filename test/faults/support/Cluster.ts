/** Servers, leaders and callers on a database and a virtual host of their own, all removed at the end of the test. */
import { mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"
import type { Proxy } from "../../support/Proxy.ts"
import { until } from "../../support/Until.ts"
import { Callers, type Chat, type Webhook } from "./Callers.ts"
import { check, type Evidence, type Row } from "./Checker.ts"
import { type Delivered, RecordingLeader } from "./RecordingLeader.ts"
import type { Services } from "./Services.ts"
import { Storage } from "./Storage.ts"
import { queueType } from "./TeamQueue.ts"
import { TestServer } from "./TestServer.ts"

const adminKey = "fault-tests-admin-key"

export interface WebhookDraft {
  readonly team: string
  readonly timeout_seconds?: number
  readonly max_concurrent?: number
  readonly max_queued?: number
  readonly rate?: string
  readonly when_team_stopped?: "refuse" | "queue"
  readonly queue_for_seconds?: number
  readonly input?: "payload"
  readonly prompt_template?: string
  readonly verification?: { readonly preset: "github" }
  readonly secret?: string
  readonly schedule?: string
  readonly template_language?: "liquid"
  readonly singleton?: { readonly key: string; readonly on_new: "supersede" }
  readonly cancel_if?: string
  readonly retries?: { readonly max_retries: number; readonly backoff_seconds: number }
}

export interface ServerOptions {
  /** Settings other than the usual ones. */
  readonly env?: Readonly<Record<string, string>>
  /** Proxies between the server and its services. */
  readonly broker?: Proxy
  readonly database?: Proxy
}

type Address = { readonly url: string }

export class Cluster {
  readonly dir = mkdtempSync(join(tmpdir(), "webhook-trigger-cluster-"))
  readonly callers = new Callers()
  /** What any leader was given, in order. */
  readonly deliveries: Array<Delivered> = []
  readonly servers: Array<TestServer> = []
  readonly leaders: Array<RecordingLeader> = []
  readonly storage: Storage
  /** The end of what the servers wrote, once the cluster is closed; for a test that failed. */
  lastOutput = ""

  private constructor(storage: Storage) {
    this.storage = storage
  }

  static async create(services: Services): Promise<Cluster> {
    return new Cluster(await Storage.create(services))
  }

  async close(): Promise<void> {
    this.lastOutput = this.servers.map((server) => `--- ${server.url}\n${server.tail()}`).join("\n")
    this.callers.close()
    await Promise.all(this.servers.map((server) => server.kill()))
    await Promise.all(this.leaders.map((leader) => leader.crash()))
    await this.storage.close()
    await rm(this.dir, { recursive: true, force: true })
  }

  /** One more server of the cluster; `start` starts it. */
  async newServer(options: ServerOptions = {}): Promise<TestServer> {
    const server = await TestServer.create(this.dir, {
      DATABASE_URL: options.database?.through(this.storage.databaseUrl) ?? this.storage.databaseUrl,
      AMQP_URL: options.broker?.through(this.storage.amqpUrl) ?? this.storage.amqpUrl,
      AMQP_QUEUE_TYPE: queueType,
      ADMIN_API_KEY: adminKey,
      SECRETS_KEY: "0".repeat(64),
      DATA_DIR: this.dir,
      LOG_FORMAT: "logfmt",
      LOG_LEVEL: "info",
      WEBHOOK_TIMEOUT: "60",
      ...options.env
    })
    this.servers.push(server)
    return server
  }

  /** One more server, ready. */
  async server(options: ServerOptions = {}): Promise<TestServer> {
    const server = await this.newServer(options)
    await server.start()
    return server
  }

  /** A team's leader, consuming. */
  async leader(
    team: string,
    {
      broker,
      ...options
    }: Omit<ConstructorParameters<typeof RecordingLeader>[0], "url" | "team" | "log"> & { readonly broker?: Proxy } = {}
  ): Promise<RecordingLeader> {
    const url = broker?.through(this.storage.amqpUrl) ?? this.storage.amqpUrl
    const leader = new RecordingLeader({ ...options, url, team, log: this.deliveries })
    this.leaders.push(leader)
    return leader.start()
  }

  /** A request to the management API; fails on any other status than those expected. */
  async api(
    { url }: Address,
    method: string,
    path: string,
    body?: unknown,
    expected: ReadonlyArray<number> = [200, 201, 204],
    headers: Readonly<Record<string, string>> = {}
  ): Promise<any> {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000)
    })
    const text = await answer.text()
    if (!expected.includes(answer.status)) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === "" ? undefined : JSON.parse(text)
  }

  /**
   * A webhook whose prompt is the caller's nonce; creates its team unless it exists. Of its runs as many may wait as of all,
   * unless the test says otherwise.
   */
  async webhook(server: Address, draft: WebhookDraft): Promise<Webhook> {
    await this.api(server, "POST", "/api/teams", { team: draft.team }, [201, 409])
    const created = await this.api(server, "POST", "/api/webhooks", {
      name: `to ${draft.team}`,
      prompt_template: "{{nonce}}",
      max_queued: 10_000_000,
      ...draft
    })
    return { id: created.webhook.id, token: created.token, team: draft.team }
  }

  chat(team: string): Chat {
    return { team, adminKey }
  }

  /** The simplest cluster: one server, one team with its leader, one webhook. */
  async single(draft: Partial<WebhookDraft> = {}, options: ServerOptions = {}) {
    const server = await this.server(options)
    const team = draft.team ?? "deploy"
    const webhook = await this.webhook(server, { ...draft, team })
    const leader = await this.leader(team)
    await this.running(server, team)
    return { server, webhook, leader }
  }

  /** Waits until the server sees that the team has a leader. */
  async running(server: Address, team: string): Promise<void> {
    const isRunning = async () => (await this.api(server, "GET", `/api/teams/${team}`)).running === true
    await until(`the server sees that team ${team} is running`, isRunning)
  }

  /** Waits for the end of all runs and fails unless every promise was kept; returns the rows. */
  async checked(
    options: Partial<Evidence> & { readonly count?: number; readonly limit?: number } = {}
  ): Promise<ReadonlyArray<Row>> {
    const { count, limit, ...evidence } = options
    const late = await this.storage.ended(count, limit).then(
      () => [],
      (error) => [error.message]
    )
    const rows = await this.storage.rows()
    const broken = check({
      calls: this.callers.calls,
      deliveries: this.deliveries,
      overlaps: this.leaders.flatMap((leader) => leader.overlaps),
      rows,
      ...evidence
    })
    expect([...late, ...broken.slice(0, 20)]).toEqual([])
    return rows
  }
}
