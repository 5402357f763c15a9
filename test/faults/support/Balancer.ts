/** A round robin balancer: each connection goes to the next server that accepts it. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"

export class Balancer {
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private readonly ports: ReadonlyArray<number>
  private next = 0

  private constructor(urls: ReadonlyArray<string>) {
    this.ports = urls.map((url) => Number(new URL(url).port))
    this.server = createServer((client) => void this.accept(client))
  }

  static async of(...servers: ReadonlyArray<{ readonly url: string }>): Promise<Balancer> {
    const balancer = new Balancer(servers.map(({ url }) => url))
    balancer.server.listen(0, "127.0.0.1")
    await once(balancer.server, "listening")
    return balancer
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  private keep(socket: Socket): Socket {
    this.sockets.add(socket)
    return socket.on("error", () => {}).once("close", () => this.sockets.delete(socket))
  }

  private async accept(client: Socket): Promise<void> {
    this.keep(client)
    for (const _ of this.ports) {
      const upstream = this.keep(connect(this.ports[this.next++ % this.ports.length]!, "127.0.0.1"))
      const isConnected = await new Promise<boolean>((resolve) => {
        upstream.once("connect", () => resolve(true)).once("error", () => resolve(false))
      })
      if (!isConnected) continue
      // When one side ends, so does the other.
      client.pipe(upstream).pipe(client)
      client.once("close", () => upstream.destroy())
      upstream.once("close", () => client.destroy())
      return
    }
    client.destroy()
  }

  close(): void {
    this.server.close()
    for (const socket of this.sockets) socket.destroy()
  }
}
