/** Valid JSON Schemas of a webhook, as a JSON Schema: draft 2020-12 without external and dynamic references. */
const schema = { $ref: "#" } as const
const schemas = { type: "array", minItems: 1, items: schema } as const
const schemaMap = { type: "object", additionalProperties: schema } as const
const size = { type: "integer", minimum: 0 } as const
const names = { type: "array", items: { type: "string" }, uniqueItems: true } as const
const types = { enum: ["array", "boolean", "integer", "null", "number", "object", "string"] } as const

export const metaSchema = {
  type: ["object", "boolean"],
  properties: {
    $schema: {
      enum: ["https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#"]
    },
    $id: { type: "string" },
    // Within the schema: nothing is ever fetched.
    $ref: { type: "string", pattern: "^#" },
    $anchor: { type: "string", pattern: "^[A-Za-z_][-A-Za-z0-9._]*$" },
    $defs: schemaMap,
    definitions: schemaMap,
    $dynamicRef: false,
    $dynamicAnchor: false,
    $recursiveRef: false,
    $recursiveAnchor: false,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    if: schema,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: schema,
    else: schema,
    dependentSchemas: schemaMap,
    prefixItems: schemas,
    items: schema,
    additionalItems: false,
    contains: schema,
    unevaluatedItems: schema,
    properties: schemaMap,
    patternProperties: { ...schemaMap, propertyNames: { format: "regex" } },
    additionalProperties: schema,
    propertyNames: schema,
    unevaluatedProperties: schema,
    type: { anyOf: [types, { type: "array", minItems: 1, items: types, uniqueItems: true }] },
    enum: { type: "array" },
    multipleOf: { type: "number", exclusiveMinimum: 0 },
    maximum: { type: "number" },
    minimum: { type: "number" },
    exclusiveMaximum: { type: "number" },
    exclusiveMinimum: { type: "number" },
    maxLength: size,
    minLength: size,
    pattern: { type: "string", format: "regex" },
    maxItems: size,
    minItems: size,
    uniqueItems: { type: "boolean" },
    maxContains: size,
    minContains: size,
    maxProperties: size,
    minProperties: size,
    required: names,
    dependentRequired: { type: "object", additionalProperties: names },
    format: { type: "string" }
  }
}
