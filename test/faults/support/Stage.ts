// The names that test/flow uses, until it uses `Cluster`.
import { test } from "vitest"
import { Cluster, type ServerOptions, type WebhookDraft } from "./Cluster.ts"
import { sharedServices } from "./Services.ts"

export class Stage {
  private readonly cluster: Cluster
  constructor(cluster: Cluster) {
    this.cluster = cluster
  }
  get callers() {
    return this.cluster.callers
  }
  one = async (draft?: Partial<WebhookDraft>, options?: ServerOptions) => {
    const { webhook: hook, ...others } = await this.cluster.single(draft, options)
    return { ...others, hook }
  }
  server = (options?: ServerOptions) => this.cluster.server(options)
  leader = (team: string) => this.cluster.leader(team)
  hook = (...args: Parameters<Cluster["webhook"]>) => this.cluster.webhook(...args)
  manage = (...args: Parameters<Cluster["api"]>) => this.cluster.api(...args)
  running = (...args: Parameters<Cluster["running"]>) => this.cluster.running(...args)
  checked = (...args: Parameters<Cluster["checked"]>) => this.cluster.checked(...args)
  query = (sql: string) => this.cluster.storage.query(sql)
}

export const row = test.extend<{ stage: Stage }>({
  stage: async ({ onTestFailed }, use) => {
    const cluster = await Cluster.create(sharedServices())
    onTestFailed(() => console.error(cluster.lastOutput))
    await use(new Stage(cluster))
    await cluster.close()
  }
})
