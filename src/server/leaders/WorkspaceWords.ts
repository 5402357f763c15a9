import { resolve } from "node:path"
import { Duration, Option, Result, Schema } from "effect"
import { type WorkspaceOption, workspaceOptions } from "../../domain/WorkspaceOption.ts"
import type { Agent } from "../../leader/agents/Agent.ts"
import type { WorkspaceOptions } from "../../leader/workspace/Workspace.ts"
import { durationOrOff } from "../../settings/EnvironmentVariable.ts"
import { DurationFromText, SizeFromText } from "../../settings/Quantity.ts"

type Name = keyof typeof workspaceOptions
type Values = { readonly [N in Name]?: ReadonlyArray<string> }

const isName = (name: string): name is Name => Object.hasOwn(workspaceOptions, name)

/** The leading words that are such options, with their values; and the others. */
const take = (words: ReadonlyArray<string>): Result.Result<readonly [Values, ReadonlyArray<string>], string> => {
  const values: { [N in Name]?: ReadonlyArray<string> } = {}
  let next = 0
  for (;;) {
    const [, name = "", given] = /^--((?:workspace|stall-)[^=]*)(?:=(.*))?$/s.exec(words[next] ?? "") ?? []
    if (name === "") return Result.succeed([values, words.slice(next)])
    if (!isName(name)) {
      const names = Object.keys(workspaceOptions).map((each) => `--${each}`)
      return Result.fail(`--${name} is not an option. The options are ${names.join(", ")}`)
    }
    const option: WorkspaceOption = workspaceOptions[name]
    const value = option.value === undefined ? "" : (given ?? words[++next] ?? "")
    if (option.value !== undefined && value === "") return Result.fail(`--${name} needs a value`)
    values[name] = [...(values[name] ?? []), value]
    next++
  }
}

const quantity = <A>(schema: Schema.Codec<A, string>, values: Values, name: Name, byDefault: A) => {
  const text = values[name]?.at(-1)
  return text === undefined
    ? Result.succeed(byDefault)
    : Result.mapError(Schema.decodeResult(schema)(text), () => `--${name} takes ${accepts[name]}; not "${text}"`)
}

const accepts: { readonly [N in Name]?: string } = {
  "workspace-setup-timeout": "a duration such as `10 minutes`",
  "workspace-keep": "a duration such as `7 days`",
  "workspace-disk": "a size such as `20 GB`"
}

/** Inside the copy, and not in its repository's own folder. */
const isInside = (path: string): boolean =>
  !path.startsWith("/") && !path.split("/").some((name) => ["", ".", "..", ".git"].includes(name))

const read = ({ "stall-timeout": _, ...values }: Values): Result.Result<WorkspaceOptions | undefined, string> =>
  Result.gen(function* () {
    const [where] = values.workspace ?? []
    const [other] = Object.keys(values)
    if (where === undefined) {
      return other === undefined ? undefined : yield* Result.fail(`--${other} needs --workspace`)
    }
    if (!where.startsWith("git:")) {
      const more = Object.keys(values).find((name) => name !== "workspace")
      if (more !== undefined) return yield* Result.fail(`--${more} needs --workspace with \`git:\` and a URL`)
      return { folder: resolve(where) }
    }
    const include = values["workspace-include"] ?? []
    const outside = include.find((path) => !isInside(path))
    if (outside !== undefined) {
      return yield* Result.fail(`--workspace-include takes a path inside the agent's folder; not "${outside}"`)
    }
    const rest = where.slice("git:".length)
    return {
      // A path is the leader's, whatever folder git runs in.
      url: /^([a-z][\w+.-]*:\/\/|[^/]+:)/i.test(rest) ? rest : resolve(rest),
      include,
      setup: values["workspace-setup"]?.at(-1),
      setupTimeout: yield* quantity(DurationFromText, values, "workspace-setup-timeout", Duration.minutes(10)),
      submodules: values["workspace-submodules"] !== undefined,
      lfs: values["workspace-lfs"] !== undefined,
      keep: yield* quantity(DurationFromText, values, "workspace-keep", Duration.days(7)),
      disk: yield* quantity(SizeFromText, values, "workspace-disk", 20e9),
      push: values["workspace-push"] !== undefined
    }
  })

export interface Placed {
  readonly agent: Agent
  readonly workspace: Option.Option<WorkspaceOptions>
  /** Absent: that of the settings. */
  readonly stallTimeout: Option.Option<Option.Option<Duration.Duration>>
}

/** How long an agent may show nothing, in which it may think, or wait for a tool. */
export const stallTimeoutFormat = durationOrOff("1 second", "7 days", "15 minutes")

/** The agent that the words after the options of the workspace make, and where it works; or what is wrong. */
export const placed = (
  words: ReadonlyArray<string>,
  agentOf: (rest: ReadonlyArray<string>) => Result.Result<Agent, string>
): Result.Result<Placed, string> =>
  Result.gen(function* () {
    const [values, rest] = yield* take(words)
    const workspace = Option.fromNullishOr(yield* read(values))
    const text = values["stall-timeout"]?.at(-1)
    const stallTimeout =
      text === undefined
        ? Option.none()
        : Option.some(
            yield* Result.mapError(
              Schema.decodeResult(stallTimeoutFormat.schema)(text),
              () => `--stall-timeout ${stallTimeoutFormat.accepts}; not "${text}"`
            )
          )
    const agent = yield* agentOf(rest)
    if (Option.isSome(workspace) && agent.program === undefined) {
      return yield* Result.fail(`--workspace does not apply to ${agent.title}, which works in no folder. Remove it`)
    }
    return { agent, workspace, stallTimeout }
  })
