/**
 * The contracts of the ports as suites of tests, for authors of drivers. They need `vitest` and `@effect/vitest`:
 *
 * ```ts
 * import { busContract, repoContract } from "webhook-trigger/contract"
 *
 * repoContract((test) => Effect.provide(test, MyRepo.layer))
 * busContract(MyBus.layer)
 * ```
 */
export { contract as busContract } from "./bus/contract.ts"
export { repoContract, type WithRepo } from "./repo/contract/RepoContract.ts"
