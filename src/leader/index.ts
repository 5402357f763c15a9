/** For programs that lead a team. They also need `LeaderAmqp.layer` from `webhook-trigger/amqp`. */
export { type Delivery, LeaderBus, type LeaderReply, type Prompt } from "../bus/Bus.ts"
export { Unavailable } from "../domain/Errors.ts"
export { RunId, WebhookId } from "../domain/Id.ts"
export { TeamName } from "../domain/Team.ts"
export * as Command from "./Command.ts"
export * as Leader from "./Leader.ts"
export { LeaderError } from "./Leader.ts"
export * as SystemUser from "./SystemUser.ts"
