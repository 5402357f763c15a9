/** What the APIs of models demand of a tool. They refuse all tools of a request for one that breaks a rule. */

import * as fc from "fast-check"
import { listedSchema } from "../../../src/http/mcp/ListedSchema.ts"
import { describe, expect, it } from "../../support/It.ts"
import { adminKey, start } from "../Server.ts"

type Json = { readonly [name: string]: any }

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** The rules that OpenAI and Anthropic document, or answer with. */
const brokenRules = (schema: unknown, at = ""): Array<string> => {
  if (!isRecord(schema)) return [`${at} is no object`]
  const faults: Array<string> = []
  const types = [schema.type ?? []].flat()
  if (at === "") {
    if (schema.type !== "object") faults.push("the type is not object")
    for (const name of ["anyOf", "oneOf", "allOf", "enum", "const", "not", "$ref", "if"]) {
      if (name in schema) faults.push(`${name} at the top`)
    }
  }
  if (types.includes("array") && !isRecord(schema.items)) faults.push(`${at}: an array without items`)
  if (types.includes("object") && !isRecord(schema.properties)) faults.push(`${at}: an object without properties`)
  if ("$ref" in schema) faults.push(`${at}: a reference`)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) faults.push(`${at}: a member called ${name}`)
    faults.push(...brokenRules(property, `${at}/${name}`))
  }
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(schema.properties ?? {}, name)) faults.push(`${at}: ${name} is required and not there`)
  }
  if (schema.items !== undefined) faults.push(...brokenRules(schema.items, `${at}/items`))
  if (isRecord(schema.additionalProperties)) faults.push(...brokenRules(schema.additionalProperties, `${at}/more`))
  for (const name of ["anyOf", "oneOf", "allOf"]) {
    for (const part of schema[name] ?? []) faults.push(...brokenRules(part, `${at}/${name}`))
  }
  return faults
}

const text = { type: "string" }
const payload = { input: "payload" }
const liquid = { template_language: "liquid" }
const named = (properties: object, more: object = {}) => ({ type: "object", properties, ...more })

/** By a name: a webhook, and what its tool lists. */
const tools: Record<string, readonly [template: string, settings: object, listed: object]> = {
  whole: ["{{payload}}", payload, named({})],
  nothing: ["do it", {}, named({})],
  item: [
    "{{payload.commits.0.message}} {{payload.commits.1.id}}",
    payload,
    named({ commits: { type: "array", items: named({ message: text, id: text }) } }, { required: ["commits"] })
  ],
  nested: [
    "{{payload.rows.0.1}}",
    payload,
    named({ rows: { type: "array", items: { type: "array", items: text } } }, { required: ["rows"] })
  ],
  first: ["{{payload.0.id}}", payload, named({ 0: named({ id: text }) }, { required: ["0"] })],
  umlaut: [
    "{{größe}} {{name?}}",
    {},
    named({ name: text }, { description: 'It also has the members "größe" (required).' })
  ],
  long: [`{{${"n".repeat(65)}}}`, {}, named({}, { description: expect.stringContaining("nnn") })],
  deep: [
    "{{payload.a.größe}}",
    payload,
    named({ a: named({}, { description: expect.stringContaining("größe") }) }, { required: ["a"] })
  ],
  loop: [
    "{% for one in payload.commits %}{{one.id}}{% endfor %}{%- liquid\nfor tag in payload['tags']\necho tag\nendfor %}",
    { ...payload, ...liquid },
    named({ commits: { type: "array", items: {} }, tags: { type: "array", items: {} } })
  ],
  filtered: ["{{ labels | join: ', ' }} {{ list.first }}", liquid, named({ labels: {}, list: {} })],
  reference: [
    "x",
    { schema: { $ref: "#/$defs/a", $defs: { a: named({ b: { $ref: "#/$defs/b" } }, { required: ["b"] }), b: text } } },
    named({ b: text }, { required: ["b"] })
  ],
  choice: [
    "x",
    {
      schema: {
        anyOf: [
          named({ a: text, c: text }, { required: ["a", "c"] }),
          named({ b: text, c: { type: "number" } }, { required: ["c"] })
        ]
      }
    },
    named({ a: text, b: text, c: { anyOf: [text, { type: "number" }] } }, { required: ["c"] })
  ],
  all: [
    "x",
    {
      schema: {
        type: "object",
        allOf: [named({ a: text }, { required: ["a"] })],
        properties: { b: text },
        additionalProperties: false
      }
    },
    named({ b: text, a: text }, { required: ["a"] })
  ],
  bare: [
    "x",
    {
      schema: {
        properties: {
          list: { type: "array" },
          map: { type: ["object", "null"] },
          any: true,
          tuple: { prefixItems: [text] }
        },
        enum: [{}]
      }
    },
    named({ list: { type: "array", items: {} }, map: { type: ["object", "null"], properties: {} }, any: {}, tuple: {} })
  ],
  unlike: ["x", { schema: { type: "array", items: text } }, named({})],
  itself: [
    "x",
    { schema: { $ref: "#/$defs/node", $defs: { node: named({ next: { $ref: "#/$defs/node" } }) } } },
    named({ next: expect.objectContaining({ type: "object" }) })
  ]
}

describe("the tools of /mcp", () => {
  it.live("are ones that the APIs of models accept, for every shape of template and schema", function* () {
    const server = yield* start()
    const team = yield* server.team("ops")
    for (const [name, [template, settings]] of Object.entries(tools)) {
      yield* server.webhook(team, template, { mcp_tool: name, mcp_description: "d".repeat(2_000), ...settings })
    }
    // Two teams, so that the names get a part of the IDs.
    yield* server.webhook(yield* server.team("other"), "x", { mcp_tool: "n".repeat(57) })
    yield* server.webhook(team, "x", { mcp_tool: "n".repeat(57) })
    const answer = yield* server.http("POST", "/mcp", {
      headers: { authorization: `Bearer ${adminKey}`, accept: "application/json, text/event-stream" },
      body: { jsonrpc: "2.0", id: 1, method: "tools/list" }
    })
    const listed: ReadonlyArray<Json> = JSON.parse(/^data: (.*)$/m.exec(answer.text)![1]!).result.tools
    expect(listed).toHaveLength(Object.keys(tools).length + 2 + 4)
    for (const { description, inputSchema, name } of listed) {
      expect(brokenRules(inputSchema), name).toStrictEqual([])
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      expect(description.length).toBeLessThanOrEqual(1_024)
      if (tools[name] !== undefined) expect(inputSchema, name).toStrictEqual(tools[name][2])
    }
  })

  it("are accepted for any schema, and made in a moment", () => {
    const { schema } = fc.letrec((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4, depthSize: "small" },
        fc.boolean(),
        fc.record(
          {
            type: fc.constantFrom("string", "object", "array", ["array", "null"], ["object", "string"]),
            properties: fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("a", "größe", "b.c")), tie("schema")),
            required: fc.array(fc.constantFrom("a", "größe", "missing")),
            items: tie("schema"),
            prefixItems: fc.array(tie("schema"), { maxLength: 2 }),
            additionalProperties: tie("schema"),
            anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
            oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
            allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
            not: tie("schema"),
            if: tie("schema"),
            else: tie("schema"),
            enum: fc.array(fc.jsonValue(), { maxLength: 2 }),
            $ref: fc.constantFrom("#", "#/properties/a", "#/allOf/0", "#/nowhere", "other.json"),
            description: fc.string()
          },
          { requiredKeys: [] }
        )
      )
    }))
    fc.assert(
      fc.property(schema, (given) => {
        if (!isRecord(given)) return
        expect(brokenRules(listedSchema(given as any))).toStrictEqual([])
      }),
      { numRuns: 500 }
    )
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }], properties: { [`p${n}`]: text } }
      ])
    )
    const listed = listedSchema({ $ref: "#/$defs/d0", $defs: doubling } as any)
    expect(brokenRules(listed)).toStrictEqual([])
    expect(listed.properties).toHaveProperty("p0")
    expect(JSON.stringify(listed).length).toBeLessThan(20_000)
  })
})
