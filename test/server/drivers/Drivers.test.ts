import { ConfigProvider, Effect } from "effect"
import * as Drivers from "../../../src/server/drivers/Drivers.ts"
import * as Environment from "../../../src/server/environment/Environment.ts"
import { describe, expect, it } from "../../support/It.ts"

const choose = (variables: Readonly<Record<string, string>>) =>
  Effect.map(
    Effect.provideService(Environment.load, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: variables })),
    Drivers.choose
  )

const production = { DATABASE_URL: "postgres://u:p@db/hooks", AMQP_URL: "amqp://u:p@mq" }

describe("the drivers", () => {
  it.effect("are embedded when no variable is set, with a demo team on the bus", function* () {
    const { bus, repo } = yield* choose({ DATA_DIR: "/var/lib/hooks" })
    expect(repo).toMatchObject({ name: "embedded", embedded: { replacedBy: "DATABASE_URL" } })
    expect(repo.embedded?.place).toContain("/var/lib/hooks")
    expect(bus).toMatchObject({ name: "embedded", embedded: { replacedBy: "AMQP_URL" }, hasDemoTeam: true })
  })

  it.effect("are PostgreSQL and RabbitMQ when their variables are set, without a demo team", function* () {
    const { bus, repo } = yield* choose(production)
    expect(repo.name).toBe("postgresql")
    expect(bus.name).toBe("rabbitmq")
    expect([repo.embedded, bus.embedded, bus.hasDemoTeam]).toEqual([undefined, undefined, undefined])
  })

  it.effect("are chosen independently of each other", function* () {
    const { AMQP_URL, DATABASE_URL } = production
    const onPostgres = yield* choose({ DATABASE_URL })
    expect([onPostgres.repo.name, onPostgres.bus.name]).toEqual(["postgresql", "embedded"])
    const onRabbit = yield* choose({ AMQP_URL })
    expect([onRabbit.repo.name, onRabbit.bus.name]).toEqual(["embedded", "rabbitmq"])
  })
})
