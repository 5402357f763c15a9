/** A TCP proxy between the server and one of its services, that can do to a connection what networks do. */
import { connect, createServer, type Server, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

export class Proxy {
  private readonly target: { readonly host: string; readonly port: number }
  private readonly server: Server
  private readonly pairs = new Set<readonly [Socket, Socket]>()
  private mode: "pass" | "silent" | "refuse" = "pass"
  private delayMs = 0
  /** Connections ever made through it. */
  connections = 0

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

  /** The URL, led through the proxy. */
  through(url: string): string {
    const led = new URL(url)
    led.hostname = "127.0.0.1"
    led.port = String(this.port)
    return led.href
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
    const pair = [client, upstream] as const
    this.pairs.add(pair)
    const gone = () => this.pairs.delete(pair)
    client.once("close", gone)
    upstream.once("close", gone)
    const carry = (from: Socket, to: Socket) => {
      from.on("data", (chunk) => {
        // What falls into the silence is lost, as with a host that is gone.
        if (this.mode !== "pass") return
        if (this.delayMs === 0) to.write(chunk)
        else setTimeout(() => to.writable && to.write(chunk), this.delayMs)
      })
      from.on("end", () => {
        if (this.mode === "pass") to.end()
      })
      from.on("close", () => {
        if (this.mode === "pass") to.destroy()
      })
    }
    carry(client, upstream)
    carry(upstream, client)
  }

  /** Every byte arrives this much later. */
  delay(ms: number): void {
    this.delayMs = ms
  }

  /** Half-open: connections stay, new ones are taken, and nothing comes through any more: no data, no FIN, no RST. */
  silence(): void {
    this.mode = "silent"
  }

  /** Through it goes again; what was silenced does not come back to life, as after a router's restart. */
  pass(): void {
    if (this.mode === "silent") this.reset()
    this.mode = "pass"
  }

  /** RST on every connection; `refuse`: and on every new one until `pass`. */
  reset(options: { readonly refuse?: boolean } = {}): void {
    if (options.refuse) this.mode = "refuse"
    for (const [client, upstream] of this.pairs) {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
  }

  /** FIN on every connection. */
  async cut(): Promise<void> {
    for (const [client, upstream] of this.pairs) {
      client.end()
      upstream.end()
    }
    await sleep(0)
  }

  async close(): Promise<void> {
    this.mode = "refuse"
    this.reset()
    await new Promise<void>((resolve) => this.server.close(() => resolve()))
  }
}
