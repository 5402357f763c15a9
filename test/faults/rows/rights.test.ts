/** What a team's leader can do to others with the rights that its team is given, on a real broker: nothing. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { type Channel, type ChannelModel, type ConsumeMessage, connect, type Options } from "amqplib"
import { Option } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { commandsOf, rightsOf } from "../../../src/cli/BrokerRights.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { until } from "../../support/Until.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTestOn } from "../support/FaultTest.ts"
import { reports } from "../support/Reports.ts"
import { type PrivateServices, privateServices } from "../support/Services.ts"
import { queueOptions } from "../support/TeamQueue.ts"

let own: PrivateServices
beforeAll(async () => {
  own = await privateServices({ rabbitmq: true })
}, 180_000)
afterAll(() => own.close())
const faultTest = faultTestOn(() => own.services)

/** The words of each command, as a shell passes them to `rabbitmqctl`. */
const wordsOf = (commands: string): ReadonlyArray<ReadonlyArray<string>> => {
  const script = `rabbitmqctl() { for word; do printf '%s\\n' "$word"; done; echo; }\n${commands}`
  const output = execFileSync("sh", ["-euc", script], { encoding: "utf8" })
  return output
    .trimEnd()
    .split("\n\n")
    .map((words) => words.split("\n"))
}

const password = "secret"

/** Runs the commands against the broker; the password is given where a person would be asked for it. */
const run = async (commands: string) => {
  for (const words of wordsOf(commands)) {
    await own.rabbitmq.control(...words, ...(words[0] === "add_user" ? [password] : []))
  }
}

const urlOf = (cluster: Cluster, user: string): string => {
  const url = new URL(cluster.storage.amqpUrl)
  url.username = user
  url.password = password
  return url.href
}

/** A user with the rights of the team's leader. */
const leaderUrl = async (cluster: Cluster, team: string): Promise<string> => {
  const vhost = new URL(cluster.storage.amqpUrl).pathname.slice(1)
  const user = `${vhost}-${team}`
  await run(commandsOf(rightsOf(TeamName.make(team), { vhost, user: Option.some(user) })))
  return urlOf(cluster, user)
}

/** The commands about the broker that a page of the documentation shows: the first ones, or those at that place. */
const documented = (page: string, place = 0): string => {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), "utf8")
  return [...text.matchAll(/^```sh\n(rabbitmqctl [\s\S]*?)^```$/gm)][place]![1]!
}

/** A user with the rights that `docs/run/deploy.md` gives the server. */
const serverUrl = async (cluster: Cluster): Promise<string> => {
  const vhost = new URL(cluster.storage.amqpUrl).pathname.slice(1)
  const user = `${vhost}-server`
  const commands = documented("run/deploy.md").replace("-p webhooks webhooks", `-p ${vhost} ${user}`)
  await run(commands.replace("add_user webhooks", `add_user ${user}`))
  return urlOf(cluster, user)
}

const connection = async (cluster: Cluster, url: string): Promise<ChannelModel> => {
  const model = await connect(url, { noDelay: true })
  model.on("error", () => {})
  cluster.storage.onClose(() => model.close().catch(() => {}))
  return model
}

/** What the broker answers to something done on a channel of its own: a refusal's code, or `done`. */
const outcomeOf = async (
  model: ChannelModel,
  act: (channel: Channel) => Promise<unknown>
): Promise<number | "done"> => {
  const channel = await model.createConfirmChannel()
  let refusal: number | undefined
  channel.on("error", (error: { readonly code?: number }) => {
    refusal = error.code
  })
  try {
    await act(channel)
    await channel.waitForConfirms()
    await channel.close()
    return refusal ?? "done"
  } catch (error) {
    return refusal ?? (error as { readonly code: number }).code
  }
}

const publish =
  (exchange: string, key: string, body: unknown, options: Options.Publish) => async (channel: Channel) => {
    channel.publish(exchange, key, Buffer.from(JSON.stringify(body)), { persistent: true, ...options })
  }

/** A server; the team `victim` with a run that its leader is working on; and what the leader of `thief` has of its own. */
const scene = async (cluster: Cluster) => {
  const server = await cluster.server({ env: { AMQP_URL: await serverUrl(cluster) } })
  const connect = async (team: string) => {
    const webhook = await cluster.webhook(server, { team, timeout_seconds: 120 })
    const model = await connection(cluster, await leaderUrl(cluster, team))
    const channel = await model.createConfirmChannel()
    await channel.assertQueue(`team.${team}`, queueOptions)
    await channel.prefetch(1)
    const prompts: Array<ConsumeMessage> = []
    await channel.consume(`team.${team}`, (message) => message && prompts.push(message))
    await cluster.running(server, team)
    const call = cluster.callers.trigger(server, webhook, { wait: true })
    await until(`the prompt of ${team} is delivered`, () => prompts.length > 0)
    return { model, channel, webhook, call, prompts, prompt: prompts[0]! }
  }
  return { server, victim: await connect("victim"), thief: await connect("thief") }
}

/** Replies as `docs/reference/amqp.md` says, and acknowledges. */
const answer = async (
  channel: Channel & { waitForConfirms: () => Promise<void> },
  prompt: ConsumeMessage,
  text: string
) => {
  const { correlationId, replyTo } = prompt.properties
  const options = { type: "response", contentType: "text/plain", correlationId, persistent: true, mandatory: true }
  channel.publish(replyTo, "", Buffer.from(text), options)
  await channel.waitForConfirms()
  channel.ack(prompt)
}

describe("a leader with the rights of its team", () => {
  it("has those that docs/reference/amqp.md shows", () => {
    const rights = rightsOf(TeamName.make("deploy"), { vhost: "/", user: Option.none() })
    expect(documented("reference/amqp.md").trimEnd()).toBe(commandsOf(rights))
  })

  faultTest("cannot read, change or fill anything of another team, nor end another team's run", async ({ cluster }) => {
    const { server, thief, victim } = await scene(cluster)
    const runId = victim.prompt.properties.messageId
    const ours = thief.prompt.properties
    const queue = "team.victim"
    const refused: Record<string, (channel: Channel) => Promise<unknown>> = {
      "get another team's prompts": (channel) => channel.get(queue),
      "consume them": (channel) => channel.consume(queue, () => {}),
      "purge the queue": (channel) => channel.purgeQueue(queue),
      "delete the queue": (channel) => channel.deleteQueue(queue),
      "declare it again": (channel) => channel.assertQueue(queue, queueOptions),
      "declare the queue of a team to come": (channel) => channel.assertQueue("team.later", queueOptions),
      "declare a queue of another name": (channel) => channel.assertQueue("spy", { durable: true }),
      "declare a queue that the broker names": (channel) => channel.assertQueue("", { exclusive: true }),
      "publish to the queue by the default exchange": publish("", queue, { prompt: "do it" }, { type: "prompt" }),
      "reply by the default exchange": publish(
        "",
        "webhook.replies.inbox",
        { response: "x" },
        { correlationId: runId }
      ),
      "publish a prompt": publish("webhook.prompts", queue, { prompt: "do it" }, { type: "prompt" }),
      "publish by amq.direct": publish("amq.direct", queue, {}, {}),
      "lead the other team's prompts here": (channel) => channel.bindQueue("team.thief", "webhook.prompts", queue),
      "take the binding of the other team's queue away": (channel) =>
        channel.unbindQueue(queue, "webhook.prompts", queue),
      "read all replies": (channel) => channel.consume("webhook.replies.inbox", () => {}),
      "have replies copied": (channel) => channel.bindQueue("team.thief", "webhook.replies", ""),
      "have dead prompts copied": (channel) => channel.bindQueue("team.thief", "webhook.dlx", ""),
      "purge all replies": (channel) => channel.purgeQueue("webhook.replies.inbox"),
      "delete all replies": (channel) => channel.deleteQueue("webhook.replies.inbox"),
      "unbind all replies": (channel) => channel.unbindQueue("webhook.replies.inbox", "webhook.replies", ""),
      "bind junk to all replies": (channel) => channel.bindQueue("webhook.replies.inbox", "webhook.cancel.thief", ""),
      "hear of another team's cancelled runs": async (channel) => {
        const { queue } = await channel.assertQueue("team.thief.cancel.spy", { exclusive: true })
        await channel.bindQueue(queue, "webhook.cancel.victim", "")
      },
      "delete what another team hears of cancelled runs by": (channel) =>
        channel.deleteExchange("webhook.cancel.victim"),
      "read dead prompts": (channel) => channel.get("webhook.dead"),
      "delete an exchange of the server": (channel) => channel.deleteExchange("webhook.replies"),
      "declare an exchange": (channel) => channel.assertExchange("spy", "fanout"),
      "delete what shows that the other team's queue is there": (channel) =>
        channel.deleteExchange("webhook.queue.victim"),
      "bind the other team's queue elsewhere": (channel) => channel.bindQueue(queue, "webhook.queue.thief", ""),
      "have the own queue's dead prompts sent to the other team": async (channel) => {
        await channel.deleteQueue("team.thief")
        const deadLetterExchange = "webhook.prompts"
        return channel.assertQueue("team.thief", { durable: true, deadLetterExchange, deadLetterRoutingKey: queue })
      }
    }
    for (const [what, act] of Object.entries(refused)) {
      if (what.startsWith("have the own")) continue
      expect([what, await outcomeOf(thief.model, act)]).toEqual([what, 403])
    }

    // What is taken, as a reply must be, but counts for nothing: the run's id is public, and everything else is the thief's own.
    const own = Buffer.from(ours.correlationId, "base64url")
    const id = (run: string) => Buffer.from(run.replaceAll("-", ""), "hex")
    const spliced = Buffer.concat([own.subarray(0, 16), id(runId), Buffer.from("victim")])
    const otherTeam = Buffer.concat([own.subarray(0, 32), Buffer.from("victim")])
    const forged: Record<string, string | undefined> = {
      "the run's id": runId,
      "no id": undefined,
      "an empty id": "",
      "another run in the own id": spliced.toString("base64url"),
      "another team in the own id": otherTeam.toString("base64url"),
      "the own id cut short": ours.correlationId.slice(0, 30),
      "a signature of zeros": Buffer.concat([Buffer.alloc(16), id(runId), Buffer.from("victim")]).toString("base64url")
    }
    const before = await dropped(server)
    let sent = 0
    for (const correlationId of Object.values(forged)) {
      const from = { messageId: runId, ...(correlationId === undefined ? {} : { correlationId }) }
      const headers = { "x-death": [{ reason: "expired", queue, count: 1 }], "x-first-death-reason": "expired" }
      const acts = [
        publish("webhook.replies", "", { response: "stolen" }, { ...from, type: "response" }),
        publish("webhook.replies", "", { message: "stolen" }, { ...from, type: "error" }),
        publish("webhook.replies", "", {}, { ...from, type: "started" }),
        publish("webhook.dlx", "", {}, { ...from, type: "prompt", headers })
      ]
      for (const act of acts) expect(await outcomeOf(thief.model, act)).toBe("done")
      sent += acts.length
    }
    await until("all of it is dropped", async () => (await dropped(server)) === before + sent)
    expect(await cluster.api(server, "GET", `/api/runs/${runId}`)).toMatchObject({ status: "running" })

    await answer(victim.channel, victim.prompt, "the victim's own answer")
    expect(await victim.call).toMatchObject({ status: 200, body: { response: "the victim's own answer" } })
    await answer(thief.channel, thief.prompt, "the thief's own answer")
    expect(await thief.call).toMatchObject({ status: 200, body: { response: "the thief's own answer" } })

    const redirect = refused["have the own queue's dead prompts sent to the other team"]!
    expect(await outcomeOf(thief.model, redirect)).toBe(403)
  })

  faultTest("can lead its team: every way in which a prompt ends, and one that it gives back", async ({ cluster }) => {
    const { thief, victim } = await scene(cluster)
    thief.channel.reject(thief.prompt, false)
    expect(await thief.call).toMatchObject({ status: 502, body: { error: { code: "undeliverable" } } })
    victim.channel.nack(victim.prompt)
    await until("the prompt is delivered again", () => victim.prompts.length > 1)
    await answer(victim.channel, victim.prompts[1]!, "done")
    expect(await victim.call).toMatchObject({ status: 200, body: { response: "done" } })
  })
})

describe("the limits that docs/reference/amqp.md shows", () => {
  faultTest("keep small what a leader may fill, and let it lead", async ({ cluster }) => {
    const { thief, victim } = await scene(cluster)
    const vhost = new URL(cluster.storage.amqpUrl).pathname.slice(1)
    await run(documented("reference/amqp.md", 1).replaceAll("-p '/'", `-p ${vhost}`))
    const full = "team.thief.cancel.full"
    await thief.channel.assertQueue(full, { durable: true })
    await thief.channel.assertExchange(full, "fanout")
    await thief.channel.bindQueue(full, full, "")
    for (let i = 0; i < 1_500; i++) thief.channel.publish(full, "", Buffer.from("junk"))
    await thief.channel.waitForConfirms()
    expect((await thief.channel.checkQueue(full)).messageCount).toBe(1_000)
    for (const { call, channel, prompt } of [thief, victim]) {
      await answer(channel, prompt, "done")
      expect(await call).toMatchObject({ status: 200, body: { response: "done" } })
    }
  })
})

/** How many messages the server has dropped because they were not from anybody who got a prompt. */
const dropped = (server: { readonly url: string }): Promise<number> => reports(server, "refused")
