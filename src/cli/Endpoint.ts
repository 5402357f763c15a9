/** The endpoints of the API as data: what the command line derives its commands from. */
import { SchemaAST as AST, Context, Option, Schema } from "effect"
import { type HttpApiEndpoint, type HttpApiGroup, OpenApi } from "effect/http-api"
import { Api } from "../api/Api.ts"

type Groups = (typeof Api)["groups"]

/** As in `teams.list`. */
export type EndpointName = { [G in keyof Groups]: `${G}.${keyof Groups[G]["endpoints"] & string}` }[keyof Groups]

type EndpointAt<N> = N extends `${infer G}.${infer E}`
  ? G extends keyof Groups
    ? E extends keyof Groups[G]["endpoints"]
      ? Groups[G]["endpoints"][E]
      : never
    : never
  : never

export type Answer<N extends EndpointName> = HttpApiEndpoint.Success<EndpointAt<N>>["Type"]

export interface Request<N extends EndpointName = never> {
  readonly params: HttpApiEndpoint.Params<EndpointAt<N>>["Type"]
  readonly query: HttpApiEndpoint.Query<EndpointAt<N>>["Type"]
  readonly headers: HttpApiEndpoint.Headers<EndpointAt<N>>["Type"]
  readonly payload: HttpApiEndpoint.Payload<EndpointAt<N>>["Type"]
}

const places = ["params", "query", "payload", "headers"] as const
export type Place = (typeof places)[number]

/** A field of a request. */
export interface Field {
  readonly place: Place
  readonly name: string
  /** The schema of its values, without those that stand for none. */
  readonly ast: AST.AST
  /** `null` removes it. */
  readonly isNullable: boolean
  readonly isRequired: boolean
  readonly about: string
}

export interface Endpoint {
  readonly group: string
  readonly id: string
  readonly path: string
  readonly summary: string
  readonly details: string
  readonly fields: ReadonlyArray<Field>
  /** The codecs of the request's parts. */
  readonly schemas: ReadonlyArray<readonly [Place, Schema.Codec<unknown, unknown>]>
  readonly answer: Schema.Codec<unknown, unknown>
  readonly isEdit: boolean
}

const membersOf = (ast: AST.AST): ReadonlyArray<AST.AST> => (AST.isUnion(ast) ? ast.types.flatMap(membersOf) : [ast])

/** The description of a value, of a member, or of the text that becomes the value. */
const aboutOf = (ast: AST.AST): string | undefined => {
  const inner = [...(AST.isUnion(ast) ? ast.types : []), ...(ast.encoding ?? []).map(({ to }) => to)]
  return AST.resolveDescription(ast) ?? inner.map(aboutOf).find((text) => text !== undefined)
}

/** Without the members that stand for an absent value. */
const valueOf = (ast: AST.AST): AST.AST => {
  if (!AST.isUnion(ast)) return ast
  const types = ast.types.filter((type) => !AST.isUndefined(type) && !AST.isNull(type))
  return types.length === 1 ? valueOf(types[0]!) : ast
}

const fieldsOf = (place: Place, { ast }: Schema.Top): ReadonlyArray<Field> => {
  if (!AST.isObjects(ast)) return []
  return ast.propertySignatures.map(({ name, type }) => ({
    ...{ place, name: String(name), ast: valueOf(type), isRequired: !AST.isOptional(type) },
    isNullable: membersOf(type).some(AST.isNull),
    about: aboutOf(type) ?? ""
  }))
}

/** The words of a choice; empty: it is none. */
export const wordsOf = (ast: AST.AST): ReadonlyArray<string> => {
  const members = membersOf(ast)
  return members.every(AST.isLiteral) ? members.map(({ literal }) => String(literal)) : []
}

/** Without the sentences about what only HTTP has. */
const withoutHttp = (text: string): string =>
  text
    .split(/(?<=\.) /)
    .filter((sentence) => !/`(If-Match|Idempotency-Key|wait=true|GET )|^The response/.test(sentence))
    .join(" ")

export const endpointOf = (name: EndpointName): Endpoint => {
  const [group = "", id = ""] = name.split(".")
  const endpoint = (Api.groups as unknown as Readonly<Record<string, HttpApiGroup.Top>>)[group]!.endpoints[id]!
  const [payload] = [...endpoint.payload.values()].flatMap(({ schemas }): ReadonlyArray<Schema.Top> => schemas)
  const parts = { params: endpoint.params, query: endpoint.query, payload, headers: endpoint.headers }
  const given = places.flatMap((place) => (parts[place] === undefined ? [] : [[place, parts[place]] as const]))
  return {
    ...{ group, id, path: endpoint.path, isEdit: endpoint.method === "PATCH" },
    summary: Option.getOrElse(Context.getOption(endpoint.annotations, OpenApi.Summary), () => ""),
    details: withoutHttp(Option.getOrElse(Context.getOption(endpoint.annotations, OpenApi.Description), () => "")),
    fields: given.flatMap(([place, schema]) => fieldsOf(place, schema)),
    schemas: given as unknown as Endpoint["schemas"],
    answer: (endpoint.success.size === 0
      ? Schema.Void
      : Schema.Union([...endpoint.success])) as unknown as Endpoint["answer"]
  }
}
