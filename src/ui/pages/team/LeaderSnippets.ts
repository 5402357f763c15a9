import type { Server } from "../../../api/Overview.ts"
import type { Snippet } from "../../components/Snippet.ts"

/** Leaders in the server. The team's name is a slug, so it needs no quoting. */
export const localLeaderSnippets = (team: string, command: string): ReadonlyArray<Snippet> => [
  {
    id: "agent",
    title: "Claude Code",
    hint: "Start the server again with this option. codex, gemini and opencode work as well. The agent's program must be installed where the server runs.",
    text: `${command} serve --agent '${team}=claude --permission-mode acceptEdits'`
  },
  {
    id: "acp",
    title: "ACP agent",
    hint: "Start the server again with this option, for any agent of the Agent Client Protocol. Replace opencode acp with its command, and say after --allow what it may do.",
    text: `${command} serve --agent '${team}=acp --allow read,edit,execute opencode acp'`
  },
  {
    id: "openai",
    title: "OpenAI API",
    hint: "Start the server again with this option, for a model behind an OpenAI-compatible endpoint, without an agent's program. Endpoints other than OpenAI's need --base-url. Most of them also need --api chat.",
    text: `export OPENAI_API_KEY=your-api-key
${command} serve --agent '${team}=openai --model gpt-5'`
  },
  {
    id: "langgraph",
    title: "LangGraph",
    hint: "Start the server again with this option, for a graph of a LangGraph server. If the server asks for a key, set LANGGRAPH_API_KEY.",
    text: `${command} serve --agent '${team}=langgraph --url http://localhost:2024 --assistant agent'`
  },
  {
    id: "server",
    title: "Any program",
    hint: "Start the server again with this option, which may be repeated. Replace cat with your agent: it reads the prompt from standard input and prints the answer.",
    text: `${command} serve --leader '${team}=cat'`
  }
]

/** The examples of leaders that this server can have. */
export const leaderSnippets = (
  team: string,
  { bus, command, public_url }: Pick<Server, "bus" | "command" | "public_url">
): ReadonlyArray<Snippet> => [
  ...localLeaderSnippets(team, command),
  {
    id: "http",
    title: "Over HTTP",
    hint: "The first command makes a key of the team, if ADMIN_API_KEY is set; or create one below, and save it in the file. Replace cat with your agent. It reads the prompt from standard input and prints the answer.",
    text: `${command} team leader-key create ${team} --name ${team} --url ${public_url} > ${team}.key
${command} leader --url ${public_url} --key-file ${team}.key -- cat`
  },
  ...(bus === "embedded" ? [] : brokerSnippets(team, command))
]

const brokerSnippets = (team: string, command: string): ReadonlyArray<Snippet> => [
  {
    id: "command",
    title: "Over RabbitMQ",
    hint: "Replace cat with your agent. It reads the prompt from standard input and prints the answer. If it fails, the end of its standard error is reported.",
    text: `export AMQP_URL=amqp://user:password@your-rabbitmq
${command} leader --team ${team} -- cat`
  },
  {
    id: "typescript",
    title: "TypeScript",
    hint: "The library reconnects automatically, handles one prompt at a time, and answers a redelivered prompt without doing the work again.",
    text: `import { runMain } from "@effect/platform-node/NodeRuntime"
import { Effect, Redacted } from "effect"
import { LeaderAmqp } from "webhook-trigger/amqp"
import { Leader, TeamName } from "webhook-trigger/leader"

const url = Redacted.make(process.env.AMQP_URL ?? "amqp://localhost")

Leader.run({
  team: TeamName.make("${team}"),
  handler: ({ prompt }) => Effect.succeed(\`You said: \${prompt}\`)
}).pipe(Effect.provide(LeaderAmqp.layer({ url, queueType: "classic" })), runMain)`
  },
  {
    id: "python",
    title: "Python",
    hint: "Uses pika. Any AMQP 0-9-1 client in any language works the same way.",
    text: `import json, os, pika

def answer(prompt: str) -> str:
    return "You said: " + prompt

connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
channel = connection.channel()
channel.confirm_delivery()
channel.basic_qos(prefetch_count=1)
channel.queue_declare("team.${team}", durable=True, arguments={
    "x-single-active-consumer": True,
    "x-dead-letter-exchange": "webhook.dlx",
})

def reply(properties, kind, body):
    channel.basic_publish(properties.reply_to, "", json.dumps(body), pika.BasicProperties(
        correlation_id=properties.correlation_id, type=kind, delivery_mode=2,
        content_type="application/json"))

def on_prompt(_, method, properties, body):
    reply(properties, "started", {})
    try:
        reply(properties, "response", {"response": answer(json.loads(body)["prompt"])})
    except Exception as error:
        reply(properties, "error", {"message": str(error)})
    channel.basic_ack(method.delivery_tag)  # after the answer, so nothing is lost

channel.basic_consume("team.${team}", on_prompt)
channel.start_consuming()`
  }
]
