import { describe, expect, it } from "@effect/vitest"
import { Result, Schema, SchemaAST } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../src/api/Api.ts"
import { faultsOf } from "../../src/domain/SchemaFaults.ts"
import { time } from "../../src/domain/Time.ts"

const faults = (schema: Schema.Codec<any, any>, value: unknown) => {
  const decoded = Schema.decodeUnknownResult(schema, { errors: "all" })(value)
  return Result.isFailure(decoded)
    ? faultsOf(decoded.failure.issue).map(({ detail, path }) => [path.map(String).join("/"), detail])
    : []
}

const Example = Schema.Struct({
  name: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)),
  note: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(9)))),
  id: Schema.String.check(Schema.isUUID()).pipe(Schema.brand("Id")),
  count: Schema.optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))),
  least: Schema.optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  states: Schema.Array(Schema.Literals(["on", "off"])).check(Schema.isMinLength(1)),
  enabled: Schema.Boolean,
  at: time("When."),
  own: Schema.optional(Schema.String.annotate({ message: "must rhyme" })),
  odd: Schema.optional(Schema.Number.check(Schema.makeFilter((n) => n % 2 === 1 || "must be odd"))),
  inner: Schema.optional(Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Null]))
})

describe("what is wrong with a value", () => {
  it("is said with what is accepted instead: the kind, the limits, and all values of a choice", () => {
    expect(
      faults(Example, {
        ...{ name: "", note: 5, id: "x", count: 10, least: -1, states: ["on", "none"], enabled: "yes" },
        ...{ at: "today", own: 5, odd: 2, inner: { a: 1 } }
      })
    ).toStrictEqual([
      ["name", "must be a string of 1 to 255 characters"],
      ["note", "must be a string of at most 9 characters"],
      ["id", "must be a UUID"],
      ["count", "must be a whole number from 1 to 9"],
      ["least", "must be a whole number of at least 0"],
      ["states/1", "must be `on` or `off`"],
      ["enabled", "must be `true` or `false`"],
      ["at", "must be a time like 2026-01-02T03:04:05.678Z"],
      ["own", "must rhyme"],
      ["odd", "must be odd"],
      ["inner/a", "must be a string"]
    ])
  })

  it("is said of the whole value and of what is missing", () => {
    expect(faults(Example, [])).toStrictEqual([["", "must be an object"]])
    expect(faults(Example, { states: [] })).toStrictEqual([
      ["name", "is required"],
      ["id", "is required"],
      ["states", "must be an array of at least 1 entry"],
      ["enabled", "is required"],
      ["at", "is required"]
    ])
  })

  it("is plain English for every parameter and every field of a body of the API", () => {
    const schemas: Array<readonly [string, Schema.Codec<any, any>]> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        for (const schema of [...[...endpoint.payload.values()].flatMap((body) => body.schemas), endpoint.query])
          if (schema !== undefined) schemas.push([endpoint.identifier, schema as Schema.Codec<any, any>])
      }
    })
    expect(schemas.length).toBeGreaterThan(30)
    const wrong = [5, -1, 1.5, "", "x", "x".repeat(100_000), "\0", null, true, {}, [], [5], { a: 5 }]
    for (const [name, schema] of schemas) {
      const ast = SchemaAST.toType(schema.ast)
      const fields = SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []
      for (const value of wrong) {
        const whole = Object.fromEntries(fields.map((field) => [field, value]))
        for (const [path, detail] of [...faults(schema, whole), ...faults(schema, value)]) {
          const at = `${name} ${path}: ${detail}`
          expect(detail, at).toMatch(/^(must|is|takes|has|contains|may) /)
          expect(detail, at).not.toMatch(/Expected|actual|valid value|undefined|\[object/)
        }
      }
    }
  })
})
