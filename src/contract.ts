/**
 * The contracts of the ports as suites of tests, for authors of drivers. They need `vitest` and `@effect/vitest`:
 *
 * ```ts
 * import { busContract, repoContract } from "webhook-trigger/contract"
 *
 * repoContract((test) => test.pipe(Effect.scoped, Effect.provide(MyRepo.layer)))
 * busContract(MyBus.layer)
 * ```
 */
export { type ContractOptions as BusContractOptions, contract as busContract } from "./bus/contract.ts"
export { type RepoContractOptions, repoContract, type WithRepo } from "./repo/contract/RepoContract.ts"
