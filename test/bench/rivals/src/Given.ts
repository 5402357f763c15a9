/** The environment of the benchmark's programs. */

export interface Webhook {
  readonly token: string
  readonly team: string
  readonly template: string
}

const env = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

export const given = {
  /** The program's address for callers. */
  port: Number(process.env.PORT),
  /** The address of the program's counts; see `Control.ts`. */
  controlPort: Number(env("CONTROL_PORT")),
  webhooks: JSON.parse(env("WEBHOOKS")) as ReadonlyArray<Webhook>,
  get databaseUrl() {
    return env("DATABASE_URL")
  },
  get amqpUrl() {
    return env("AMQP_URL")
  },
  get redis() {
    return { host: "127.0.0.1", port: Number(env("REDIS_PORT")) }
  },
  get restate() {
    return { ingress: env("RESTATE_INGRESS"), admin: env("RESTATE_ADMIN") }
  }
}

export const teams: ReadonlyArray<string> = given.webhooks.map(({ team }) => team)
