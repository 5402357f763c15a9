/** The bus on RabbitMQ: the server's side, and the leader's. */
export type { AmqpOptions } from "./bus/amqp/BusAmqp.ts"
export * as BusAmqp from "./bus/amqp/BusAmqp.ts"
export * as LeaderAmqp from "./bus/amqp/LeaderAmqp.ts"
export type { QueueType } from "./bus/amqp/Topology.ts"
export { Bus, LeaderBus } from "./bus/Bus.ts"
