/**
 * A NestJS gateway whose controller calls a microservice over RabbitMQ. It has a client for each team's durable queue,
 * persistent messages, and direct reply-to, which is its default.
 */
import "reflect-metadata"
import { Body, Controller, HttpCode, Inject, Module, NotFoundException, Param, Post } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { type ClientProxy, ClientProxyFactory, Transport } from "@nestjs/microservices"
import { FastifyAdapter } from "@nestjs/platform-fastify"
import { firstValueFrom, timeout } from "rxjs"
import { answered } from "./Answer.ts"
import { listenForControl } from "./Control.ts"
import { given, teams } from "./Given.ts"
import { makeRunId, render, type Variables } from "./Render.ts"
import { countRuns, createRuns, createWebhooks, rowByRow } from "./Rows.ts"

type Clients = ReadonlyMap<string, ClientProxy>

const clientOf = (team: string): ClientProxy =>
  ClientProxyFactory.create({
    transport: Transport.RMQ,
    options: {
      urls: [given.amqpUrl],
      queue: `team.${team}`,
      queueOptions: {
        durable: true,
        arguments: { "x-single-active-consumer": true, "x-dead-letter-exchange": "webhook.dlx" }
      },
      persistent: true,
      socketOptions: { connectionOptions: { noDelay: true } }
    }
  })

const connectedClients = async (): Promise<Clients> => {
  const clients = new Map(teams.map((team) => [team, clientOf(team)]))
  for (const client of clients.values()) await client.connect()
  return clients
}

@Controller("webhook/trigger")
class TriggerController {
  @Inject("clients")
  private readonly clients!: Clients

  @Post(":token")
  @HttpCode(200)
  async trigger(@Param("token") token: string, @Body() { variables }: { variables: Variables }) {
    const webhook = await rowByRow.findWebhook(token)
    if (webhook === undefined) throw new NotFoundException()
    const id = makeRunId()
    const prompt = render(webhook.template, variables)
    await rowByRow.insertRun({ id, webhook, prompt, variables })
    const reply = this.clients.get(webhook.team)!.send<string>("prompt", { run_id: id, source: "webhook", prompt })
    const response = await firstValueFrom(reply.pipe(timeout(300_000)))
    await rowByRow.endRun({ id, response })
    return answered(id, response).body
  }
}

@Module({
  controllers: [TriggerController],
  providers: [{ provide: "clients", useFactory: connectedClients }]
})
class Gateway {}

await createWebhooks()
await createRuns()
const app = await NestFactory.create(Gateway, new FastifyAdapter(), { logger: ["error"] })
await app.listen(given.port, "127.0.0.1")
listenForControl(countRuns)
