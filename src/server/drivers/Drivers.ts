import type { Environment } from "../environment/Environment.ts"
import * as Buses from "./Buses.ts"
import type { Embedded } from "./Driver.ts"
import * as Repos from "./Repos.ts"

export interface Drivers {
  readonly repo: Repos.RepoDriver
  readonly bus: Buses.BusDriver
}

export const choose = (environment: Environment): Drivers => ({
  repo: Repos.choose(environment),
  bus: Buses.choose(environment)
})

/** The drivers that only one process can use. */
export const embedded = ({ bus, repo }: Drivers): ReadonlyArray<Embedded> =>
  [repo, bus].flatMap(({ embedded }) => (embedded === undefined ? [] : [embedded]))
