import { test } from "vitest"
import { testSeed } from "../../support/Random.ts"
import { Cluster } from "./Cluster.ts"
import { type Services, sharedServices } from "./Services.ts"

/** Tests with a cluster of their own, on services that are running by the time a test starts. */
export const faultTestOn = (services: () => Services) =>
  test.extend<{ cluster: Cluster }>({
    cluster: async ({ onTestFailed }, use) => {
      const cluster = await Cluster.create(services())
      onTestFailed(() => console.error(`Random numbers of this test: TEST_SEED=${testSeed}\n${cluster.lastOutput}`))
      await use(cluster)
      await cluster.close()
    }
  })

/** A test with a cluster of its own, on the whole run's services. */
export const faultTest = faultTestOn(sharedServices)
