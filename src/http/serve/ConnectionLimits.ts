/** Limits a process's connections, and chooses which one is closed for another. Plain code, so that counting is one step. */
import { readFileSync } from "node:fs"
import { constVoid } from "effect/Function"

/** Open files reserved for the database, the broker, the data folder, and callers beyond the limit. */
const reserve = 100

/** The default maximum, however many files a process may open: an idle connection takes about 10 KiB. */
const mostConnections = 50_000

/** How many files the system lets this process open; infinite if unknown. */
const openFilesLimit = (): number => {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    const report = process.report?.getReport() as { readonly userLimits?: { open_files?: { soft?: unknown } } }
    const soft = Number(report?.userLimits?.open_files?.soft)
    return soft > 0 ? soft : Number.POSITIVE_INFINITY
  }
}

/** Always below the file limit. */
const limitFor = (wanted: number, files: number): number => Math.min(wanted, Math.max(files - reserve, files >> 1))

/** Connections that share a limit, and the order in which they are closed for others. */
class Group {
  count = 0
  /** These three are closed in this order, in each the least recently used first. */
  readonly idle = new Set<Connection>()
  readonly busy = new Set<Connection>()
  readonly idleWithCredentials = new Set<Connection>()
  readonly limit: number
  readonly onEmpty: () => void

  constructor(limit: number, onEmpty: () => void) {
    this.limit = limit
    this.onEmpty = onEmpty
  }

  add(connection: Connection): void {
    const { hasCredentials, isIdle } = connection
    if (!hasCredentials) (isIdle ? this.idle : this.busy).add(connection)
    else if (isIdle) this.idleWithCredentials.add(connection)
  }

  delete(connection: Connection): void {
    this.idle.delete(connection)
    this.busy.delete(connection)
    this.idleWithCredentials.delete(connection)
  }

  next(): Connection | undefined {
    for (const connections of [this.idle, this.busy, this.idleWithCredentials]) {
      for (const connection of connections) return connection
    }
    return undefined
  }
}

/** A counted connection. */
export class Connection {
  /** Whether it has sent a valid token, key or session, or is a trusted proxy's. */
  hasCredentials: boolean
  private requests = 0
  private groups: ReadonlyArray<Group>
  /** Closes it. */
  readonly close: () => void

  constructor(groups: ReadonlyArray<Group>, hasCredentials: boolean, close: () => void) {
    this.groups = groups
    this.hasCredentials = hasCredentials
    this.close = close
    for (const group of groups) group.count++
    this.sort()
  }

  /** It has no open request. */
  get isIdle(): boolean {
    return this.requests === 0
  }

  begin(): void {
    this.requests++
    this.sort()
  }

  end(): void {
    this.requests--
    this.sort()
  }

  showCredentials(): void {
    this.hasCredentials = true
    this.sort()
  }

  /** The connection is closed, and no longer counted. */
  closed(): void {
    for (const group of this.groups) {
      group.count--
      group.delete(this)
      if (group.count === 0) group.onEmpty()
    }
    this.groups = []
  }

  private sort(): void {
    for (const group of this.groups) {
      group.delete(this)
      group.add(this)
    }
  }
}

export interface Limits {
  /** The maximum for this process; if absent, as many as its open files allow. */
  readonly connections?: number | undefined
  /** The maximum for one network (`networkOf`); if absent, half of all. */
  readonly connectionsPerAddress?: number | undefined
}

export class ConnectionLimits {
  private readonly all: Group
  private readonly perAddress: number
  private readonly ofNetworks = new Map<string, Group>()

  constructor({ connections = mostConnections, connectionsPerAddress }: Limits = {}, files = openFilesLimit()) {
    this.all = new Group(limitFor(connections, files), constVoid)
    this.perAddress = connectionsPerAddress ?? Math.ceil(this.all.limit / 2)
  }

  /**
   * Counts a new connection, and may close another one for it. Returns undefined if there is no room. `network`: the
   * connection's network; undefined for a trusted proxy, which has many callers.
   */
  open(network: string | undefined, close: () => void): Connection | undefined {
    // The network first: a network with too many connections loses one of its own.
    const known = network === undefined ? undefined : this.ofNetworks.get(network)
    if (known !== undefined && !makeRoom(known)) return undefined
    if (!makeRoom(this.all)) return undefined
    const groups = network === undefined ? [this.all] : [this.groupOf(network), this.all]
    return new Connection(groups, network === undefined, close)
  }

  private groupOf(network: string): Group {
    const known = this.ofNetworks.get(network)
    if (known !== undefined) return known
    const group = new Group(this.perAddress, () => this.ofNetworks.delete(network))
    this.ofNetworks.set(network, group)
    return group
  }
}

/** Returns false if none of the group's connections can be closed for another one. */
const makeRoom = (group: Group): boolean => {
  if (group.count < group.limit) return true
  const next = group.next()
  next?.closed()
  next?.close()
  return next !== undefined
}
