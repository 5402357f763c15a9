/** How many connections a process has, and which one makes way for another. Plain code, so that counting is one step. */
import { readFileSync } from "node:fs"
import { constVoid } from "effect/Function"

/** Files that stay for the database, the broker, the data folder, and for callers beyond the limit. */
const reserve = 100

/** Without a setting, however many files a process may open: an idle connection takes about 10 KiB. */
const mostConnections = 50_000

/** How many files the system lets this process open; infinite where it does not say. */
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

/** Below the file limit in any case. */
const limitFor = (wanted: number, files: number): number => Math.min(wanted, Math.max(files - reserve, files >> 1))

/** Connections that share a limit. Those without credentials make way for others, in this order. */
class Group {
  count = 0
  readonly idle = new Set<Connection>()
  readonly busy = new Set<Connection>()
  readonly limit: number
  readonly onEmpty: () => void

  constructor(limit: number, onEmpty: () => void) {
    this.limit = limit
    this.onEmpty = onEmpty
  }

  oldest(): Connection | undefined {
    const [oldest] = this.idle.size > 0 ? this.idle : this.busy
    return oldest
  }
}

/** A connection as it is counted. */
export class Connection {
  /** Whether it has shown a valid token, key or session, or is a trusted proxy's. */
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

  /** It is closed, and counted no longer. */
  closed(): void {
    for (const group of this.groups) {
      group.count--
      group.idle.delete(this)
      group.busy.delete(this)
      if (group.count === 0) group.onEmpty()
    }
    this.groups = []
  }

  private sort(): void {
    for (const group of this.groups) {
      group.idle.delete(this)
      group.busy.delete(this)
      if (!this.hasCredentials) (this.requests === 0 ? group.idle : group.busy).add(this)
    }
  }
}

export interface Limits {
  /** Connections of this process; absent: as many as its open files allow. */
  readonly connections?: number | undefined
  /** Of one network (`networkOf`); absent: half of all. */
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
   * Counts a connection, for which another one may be closed; none when there is no room for it. `network`: where it comes
   * from; a trusted proxy, which stands for many callers, has none.
   */
  open(network: string | undefined, close: () => void): Connection | undefined {
    // The network first: one that has too many loses one of its own.
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

/** False: none of the group's connections can be closed for another one. */
const makeRoom = (group: Group): boolean => {
  if (group.count < group.limit) return true
  const oldest = group.oldest()
  oldest?.closed()
  oldest?.close()
  return oldest !== undefined
}
