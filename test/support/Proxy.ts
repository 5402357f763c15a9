/** A TCP proxy between the server and one of its services that simulates network faults. */
import { connect, createServer, type Server, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** The server's bytes: sent, received, or both. */
type Direction = "sent" | "received" | "both"

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  silent: boolean
}

/** Milliseconds after which a service closes a connection whose peer has vanished. */
const keepAliveMs = 30_000

export class Proxy {
  private target: { readonly host: string; readonly port: number }
  private readonly server: Server
  private readonly pairs = new Set<Pair>()
  private mode: "pass" | "silent" | "refuse" = "pass"
  private held: Direction | undefined
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

  /** New connections lead to another server; those that are open stay where they are. */
  leadTo(url: string): void {
    const { hostname, port } = new URL(url)
    this.target = { host: hostname, port: Number(port) }
  }

  get port(): number {
    return (this.server.address() as { readonly port: number }).port
  }

  /** The URL with the proxy's address instead of the server's. */
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
    client.once("close", () => {
      this.pairs.delete(pair)
      if (pair.silent) setTimeout(() => upstream.destroy(), keepAliveMs).unref()
    })
    upstream.once("close", () => this.pairs.delete(pair))
    const forward = (from: Socket, to: Socket) => {
      const inOrder = this.delayed()
      // Bytes sent in the meantime are lost, as with a host that is gone.
      const pass = (act: () => void) => inOrder(() => !pair.silent && act())
      from.on("data", (chunk) => {
        if (!pair.silent) pass(() => to.writable && to.write(chunk))
      })
      from.on("end", () => pass(() => to.end()))
      from.on("close", () => {
        if (!pair.silent) to.destroy()
      })
    }
    upstream.on("data", (chunk) => {
      this.received += chunk.length
    })
    forward(client, upstream)
    forward(upstream, client)
    this.holdBack(pair)
  }

  /** Does one thing after another, each after the delay at the time of its request. */
  private delayed(): (act: () => void) => void {
    let waiting = 0
    let last = Promise.resolve()
    return (act) => {
      if (this.delayMs === 0 && waiting === 0) return act()
      const due = performance.now() + this.delayMs
      waiting++
      last = last.then(async () => {
        await sleep(Math.max(0, due - performance.now()))
        waiting--
        act()
      })
    }
  }

  private holdBack({ client, upstream }: Pair): void {
    if (this.held === "sent" || this.held === "both") client.pause()
    if (this.held === "received" || this.held === "both") upstream.pause()
  }

  /** Every byte arrives this much later. */
  delay(ms: number): void {
    this.delayMs = ms
  }

  /**
   * Bytes in that direction arrive after `letGo`, even on new connections: like packets that are lost and sent again.
   */
  hold(direction: Direction): void {
    this.held = direction
    for (const pair of this.pairs) this.holdBack(pair)
  }

  letGo(): void {
    this.held = undefined
    for (const { client, upstream } of this.pairs) {
      client.resume()
      upstream.resume()
    }
  }

  /**
   * Half-open: the connections stay, but nothing passes: no data, no FIN, no RST. `all`: new connections are accepted,
   * and are silent, too.
   */
  silence(which: "present" | "all"): void {
    if (which === "all") this.mode = "silent"
    for (const pair of this.pairs) pair.silent = true
  }

  /** New connections pass again. Silenced ones stay silent, as after the restart of a router. */
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
