/** A database and a virtual host for one test, removed at its end: what a cluster's servers and leaders share. */
import { randomBytes } from "node:crypto"
import { connect } from "amqplib"
import { queryPostgres } from "../../support/Postgres.ts"
import { Proxy } from "../../support/Proxy.ts"
import { createVhost, deleteVhost, manage } from "../../support/RabbitMq.ts"
import { until } from "../../support/Until.ts"
import type { Row } from "./Checker.ts"
import type { Services } from "./Services.ts"

export class Storage {
  readonly databaseUrl: string
  readonly amqpUrl: string
  private readonly vhost: string
  private readonly managementUrl: string
  private readonly finalizers: Array<() => Promise<unknown>> = []

  private constructor(vhost: string, managementUrl: string, databaseUrl: string, amqpUrl: string) {
    this.vhost = vhost
    this.managementUrl = managementUrl
    this.databaseUrl = databaseUrl
    this.amqpUrl = amqpUrl
  }

  static async create({ amqpUrl, databaseUrl, managementUrl }: Services): Promise<Storage> {
    const name = `fault_${randomBytes(6).toString("hex")}`
    await queryPostgres(databaseUrl, `CREATE DATABASE ${name}`)
    const url = new URL(databaseUrl)
    url.pathname = `/${name}`
    const storage = new Storage(name, managementUrl, url.href, await createVhost(amqpUrl, managementUrl, name))
    storage.onClose(() => queryPostgres(databaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
    storage.onClose(() => deleteVhost(managementUrl, name))
    return storage
  }

  /** Runs when the storage is closed; the last one added runs first. */
  onClose(finalizer: () => Promise<unknown>): void {
    this.finalizers.push(finalizer)
  }

  async close(): Promise<void> {
    for (const finalize of this.finalizers.reverse()) {
      await finalize().catch((error) => console.error("while a test's storage was removed:", error))
    }
  }

  /** A proxy in front of the broker or the database. */
  async proxy(which: "broker" | "database"): Promise<Proxy> {
    const proxy = await Proxy.of(which === "broker" ? this.amqpUrl : this.databaseUrl)
    this.onClose(() => proxy.close())
    return proxy
  }

  query(sql: string): Promise<ReadonlyArray<Record<string, unknown>>> {
    return queryPostgres(this.databaseUrl, sql)
  }

  /** All runs, in the order of their acceptance. */
  async rows(): Promise<ReadonlyArray<Row>> {
    return (await this.query(
      `select id, webhook_id, team, mode, status, prompt, response, error_code,
         accepted_at, admitted_at, sent_at, started_at, finished_at, released_at, deadline_at
       from webhook_trigger.runs order by seq`
    )) as unknown as ReadonlyArray<Row>
  }

  /** Waits until all runs have ended, and there are at least `count` of them; returns them. */
  async ended(count = 0, limit?: number): Promise<ReadonlyArray<Row>> {
    const counts = `select count(*) filter (where finished_at is null)::int as unfinished, count(*)::int as all
      from webhook_trigger.runs`
    const haveEnded = async () => {
      const [row] = await this.query(counts).catch(() => [])
      return row?.unfinished === 0 && Number(row.all) >= count
    }
    await until(`${count > 0 ? `all of at least ${count}` : "all"} runs have ended`, haveEnded, limit, 100)
    return this.rows()
  }

  /** How many messages of the queue are with no consumer. */
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

  /** The broker forgets everything, as with a new disk; connections are closed, and may be opened again. */
  async loseBroker(): Promise<void> {
    await deleteVhost(this.managementUrl, this.vhost)
    await createVhost(this.amqpUrl, this.managementUrl, this.vhost)
  }

  /** Removes what waits in a queue. */
  async purgeQueue(queue: string): Promise<void> {
    const { ok, status } = await manage(this.managementUrl, "DELETE", `/api/queues/${this.vhost}/${queue}/contents`)
    if (!ok) throw new Error(`purging ${queue}: the management API answered ${status}`)
  }

  /** Deletes a queue, whatever is in it. */
  async deleteQueue(queue: string): Promise<void> {
    const { status } = await manage(this.managementUrl, "DELETE", `/api/queues/${this.vhost}/${queue}`)
    // 404: it is not there, as the fault wants it.
    if (status !== 204 && status !== 404) throw new Error(`deleting ${queue}: the management API answered ${status}`)
  }
}
