/** Triggers of one webhook while others send what takes long to evaluate. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { openPlace, type Place } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { formatted, type Measured } from "./Report.ts"
import { createWebhook, pathOf, type Server, startLeader, startServer } from "./Server.ts"

interface Attack {
  readonly name: string
  /** What is checked with an API key; or a webhook's settings, and the value of its variable `x`. */
  readonly check?: object
  readonly settings?: object
  readonly x?: unknown
}

const doubled = (last: object) => ({
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => {
      const next = { $ref: `#/$defs/d${n + 1}` }
      return [`d${n}`, n === 29 ? last : { allOf: [next, next] }]
    })
  )
})
const loops = "{% for i in (1..1000000) %}{% for j in (1..1000000) %}x{% endfor %}{% endfor %}"
const ofX = (schema: object) => ({ schema: { properties: { x: schema } } })
const numbers = (length: number) => Array.from({ length }, (_, n) => n)
const draft = { name: "draft", team: "team-1", prompt_template: "x" }
const almost = `${"a".repeat(62)}!`

const attacks: ReadonlyArray<Attack> = [
  {
    name: "check: schema that doubles 29 times",
    check: { webhooks: [{ ...draft, schema: doubled({ type: "string" }) }] }
  },
  {
    name: "check: 20 destinations with loops in loops",
    check: {
      webhooks: [
        {
          ...draft,
          destinations: numbers(20).map((n) => ({ url: `https://example.com/${n}`, body: "template", template: loops }))
        }
      ]
    }
  },
  { name: "schema: `^(a+)+$`", settings: ofX({ pattern: "^(a+)+$" }), x: almost },
  { name: "schema: `format: url`", settings: ofX({ format: "url" }), x: `http://${"a.".repeat(500)}!` },
  { name: "schema: 60,000 distinct items", settings: ofX({ uniqueItems: true }), x: numbers(60_000) },
  {
    name: "template: loops in loops",
    settings: {
      template_language: "liquid",
      prompt_template: "{% for i in x %}{% for j in x %}{% endfor %}{% endfor %}"
    },
    x: numbers(20_000)
  },
  // Of our own.
  {
    name: "schema: names by `^([a-z]+)*$`",
    settings: ofX({ patternProperties: { "^([a-z]+)*$": {} } }),
    x: { [`${"a".repeat(40)}!`]: 1 }
  },
  {
    name: "filter: each item with all others",
    settings: { accept_if: "length(x[].length($.x[?@ > `0`])) > `0`" },
    x: numbers(20_000)
  },
  {
    name: "schema: alternatives of alternatives",
    settings: {
      schema: {
        properties: { x: { $ref: "#/$defs/a" } },
        $defs: { a: { anyOf: [{ items: { $ref: "#/$defs/a" } }, { items: { $ref: "#/$defs/a" } }], type: "array" } }
      }
    },
    x: JSON.parse(`${"[".repeat(28)}${"]".repeat(28)}`)
  },
  {
    name: "thread key: a text that doubles",
    settings: {
      template_language: "liquid",
      prompt_template: "x",
      thread_key: "{% assign s = x %}{% for i in (1..40) %}{% assign s = s | append: s %}{% endfor %}{{ s | size }}"
    },
    x: "x".repeat(100)
  },
  {
    name: "preview: other long templates each time",
    check: { webhooks: [{ ...draft, template_language: "liquid", prompt_template: loops + "{{ x }}".repeat(8_000) }] }
  }
]

const connections = 20

/** Sends it on all connections, from a process of its own. Returns how to stop, which returns how many answers there were. */
const attack = (server: Server, trigger: string, { check, x }: Attack) => {
  const child = fork(pathOf("attack.mjs"))
  child.send({
    connections,
    method: check === undefined ? "POST" : "PUT",
    url: check === undefined ? trigger : `${server.url}/api/config?dry_run=true`,
    headers: { "content-type": "application/json", authorization: `Bearer ${server.adminKey}` },
    body: JSON.stringify(check ?? { variables: { x } })
  })
  return async (): Promise<number> => {
    const answers = once(child, "message")
    child.send("stop")
    const [count] = await answers
    child.kill()
    return count
  }
}

/** The times of triggers one after the other, in milliseconds, sorted. */
const timesOf = async (trigger: string, requests: number): Promise<ReadonlyArray<number>> => {
  const times: Array<number> = []
  for (let n = 0; n < requests; n++) {
    const begun = performance.now()
    const answer = await fetch(trigger, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"variables":{"text":"a text","nested":{"ref":"main"}}}'
    })
    await answer.text()
    if (answer.status !== 202) throw new Error(`answered ${answer.status}`)
    times.push(performance.now() - begun)
  }
  return times.sort((a, b) => a - b)
}

const at = (share: number, sorted: ReadonlyArray<number>) => sorted[Math.floor(share * (sorted.length - 1))]!

const measure = async (place: Place, requests: number) => {
  await startLeader(place, ["team-1"])
  const server = await startServer(place)
  await server.request("POST", "/api/teams", { team: "team-1" })
  const { trigger } = await createWebhook(server, "team-1")
  await timesOf(trigger, requests)
  const idle = await timesOf(trigger, requests)
  const rows: Array<ReadonlyArray<string>> = []
  const row = (name: string, times: ReadonlyArray<number>, answers: string) => {
    rows.push([
      name,
      formatted(at(0.5, times), 1),
      formatted(at(0.99, times), 1),
      formatted(at(0.99, times) / at(0.99, idle), 1),
      answers
    ])
  }
  row("nothing", idle, "")
  // Before the first attack: what it uses of the key's CPU time would be missing here.
  const triggers = new Map<Attack, string>()
  for (const one of attacks) {
    const made = await server.request("POST", "/api/webhooks", {
      ...{ name: one.name, team: "team-1", prompt_template: "{{x}}" },
      ...one.settings
    })
    triggers.set(one, made.trigger_url)
  }
  for (const [one, url] of triggers) {
    const stop = attack(server, url, one)
    await new Promise((resolve) => setTimeout(resolve, 500))
    const times = await timesOf(trigger, requests)
    row(one.name, times, formatted(await stop()))
  }
  await server.stop()
  return rows
}

export const measureUntrusted = async (services: Services, requests: number): Promise<Measured> => {
  const place = await openPlace(services)
  try {
    return {
      title: `Triggers of another webhook beside what takes long to evaluate`,
      head: [`${connections} connections send`, "p50, ms", "p99, ms", "p99, to idle", "answers to them"],
      rows: await measure(place, requests),
      notes: [`${formatted(requests)} triggers one after the other, for each row.`]
    }
  } catch (error) {
    throw new Error(place.output(), { cause: error })
  } finally {
    await place.close()
  }
}
