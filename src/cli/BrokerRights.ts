/** A team leader's permissions on the broker, limited to its own team. `docs/reference/amqp.md` explains them. */
import { Option } from "effect"
import { quoted } from "./Output.ts"

type BrokerRights = ReturnType<typeof rightsOf>

/** RabbitMQ's permissions are regular expressions for the names of queues and exchanges. */
export const rightsOf = (team: string, options: { readonly vhost: string; readonly user: Option.Option<string> }) => ({
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
