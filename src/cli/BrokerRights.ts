/** A team leader's permissions on the broker, limited to its own team. `docs/reference/amqp.md` explains them. */
import { Option, Schema } from "effect"
import { Flag } from "effect/cli"
import type { TeamName } from "../domain/Team.ts"

/** RabbitMQ's permissions are regular expressions for the names of queues and exchanges. */
export const BrokerRights = Schema.Struct({
  user: Schema.String,
  vhost: Schema.String,
  configure: Schema.String,
  write: Schema.String,
  read: Schema.String,
  max_connections: Schema.Number,
  max_channels: Schema.Number
})
export type BrokerRights = typeof BrokerRights.Type

const vhost = Flag.String("vhost").pipe(
  Flag.withMetavar("name"),
  Flag.withDescription("The broker's virtual host (the path of AMQP_URL)"),
  Flag.withDefault("/")
)
const user = Flag.String("broker-user").pipe(
  Flag.withMetavar("name"),
  Flag.withDescription("The leader's user on the broker; default: team-<team>"),
  Flag.optional
)

export const brokerOptions = { vhost, user }

export const rightsOf = (
  team: TeamName,
  options: { readonly vhost: string; readonly user: Option.Option<string> }
): BrokerRights => ({
  user: Option.getOrElse(options.user, () => `team-${team}`),
  vhost: options.vhost,
  // The team's queue, and the queues for cancellations.
  configure: `^team\\.${team}(\\.cancel\\..+)?$`,
  write: `^(team\\.${team}\\.cancel\\..+|webhook\\.(replies|dlx))$`,
  read: `^(team\\.${team}(\\.cancel\\..+)?|webhook\\.cancel\\.${team})$`,
  // Enough for ten leaders, with two connections and three channels each.
  max_connections: 20,
  max_channels: 60
})

/** Any text as one shell word. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Shell commands that grant these rights. The first asks for the password. */
export const commandsOf = (rights: BrokerRights): string => {
  const [user, vhost] = [quoted(rights.user), quoted(rights.vhost)]
  const limits = { "max-connections": rights.max_connections, "max-channels": rights.max_channels }
  return [
    `rabbitmqctl add_user ${user}`,
    `rabbitmqctl set_permissions -p ${vhost} ${user} ${[rights.configure, rights.write, rights.read].map(quoted).join(" ")}`,
    `rabbitmqctl set_user_limits ${user} ${quoted(JSON.stringify(limits))}`
  ].join("\n")
}
