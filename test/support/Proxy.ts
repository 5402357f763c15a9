/** A TCP proxy between the server and one of its services, with the faults of a network. */
import { connect, createServer, type Server, type Socket } from "node:net"

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  silent: boolean
}

export class Proxy {
  private readonly target: { readonly host: string; readonly port: number }
  private readonly server: Server
  private readonly pairs = new Set<Pair>()
  private mode: "pass" | "silent" | "refuse" = "pass"
  private delayMs = 0
  /** Connections opened through it so far. */
  connections = 0
  /** Bytes that the server has sent through it so far. */
  received = 0

  private constructor(host: string, port: number) {
    this.target = { host, port }
    this.server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => this.accept(client))
  }

  /** A proxy in front of the URL's server. */
  static async of(url: string): Promise<Proxy> {
    const { hostname, port } = new URL(url)
    const proxy = new Proxy(hostname, Number(port))
    await new Promise<void>((resolve) => proxy.server.listen(0, "127.0.0.1", resolve))
    return proxy
  }

  get port(): number {
    return (this.server.address() as { readonly port: number }).port
  }

  /** The URL with the proxy's address in place of the server's. */
  through(url: string): string {
    const proxied = new URL(url)
    proxied.hostname = "127.0.0.1"
    proxied.port = String(this.port)
    return proxied.href
  }

  private accept(client: Socket): void {
    client.on("error", () => {})
    if (this.mode === "refuse") {
      client.resetAndDestroy()
      return
    }
    this.connections++
    const upstream = connect({ ...this.target, noDelay: true, allowHalfOpen: true })
    upstream.on("error", () => client.destroy())
    client.on("error", () => upstream.destroy())
    const pair: Pair = { client, upstream, silent: this.mode === "silent" }
    this.pairs.add(pair)
    const remove = () => this.pairs.delete(pair)
    client.once("close", remove)
    upstream.once("close", remove)
    const forward = (from: Socket, to: Socket) => {
      from.on("data", (chunk) => {
        // What is sent meanwhile is lost, as with a host that is gone.
        if (pair.silent) return
        if (this.delayMs === 0) to.write(chunk)
        else setTimeout(() => to.writable && !pair.silent && to.write(chunk), this.delayMs)
      })
      from.on("end", () => {
        if (!pair.silent) to.end()
      })
      from.on("close", () => {
        if (!pair.silent) to.destroy()
      })
    }
    upstream.on("data", (chunk) => {
      this.received += chunk.length
    })
    forward(client, upstream)
    forward(upstream, client)
  }

  /** Every byte arrives this much later. */
  delay(ms: number): void {
    this.delayMs = ms
  }

  /**
   * Half-open: the connections stay, and nothing comes through any more: no data, no FIN, no RST. `all`: new
   * connections are accepted, and are as silent.
   */
  silence(which: "present" | "all"): void {
    if (which === "all") this.mode = "silent"
    for (const pair of this.pairs) pair.silent = true
  }

  /** New connections go through again; what was silenced stays so, as after the restart of a router. */
  pass(): void {
    this.mode = "pass"
  }

  /** RST on every connection, and with `refuse` on every new one until `pass`. */
  reset(options: { readonly refuse?: boolean } = {}): void {
    if (options.refuse) this.mode = "refuse"
    for (const { client, upstream } of this.pairs) {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
  }

  /** FIN on every connection. */
  cut(): void {
    for (const { client, upstream } of this.pairs) {
      client.end()
      upstream.end()
    }
  }

  async close(): Promise<void> {
    this.reset({ refuse: true })
    await new Promise<void>((resolve) => this.server.close(() => resolve()))
  }
}
