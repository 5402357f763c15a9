/** The choices of webhooks with a program that leads a team. Its operator sets them before the program's options. */
import { type Effect, Result } from "effect"
import parseArgv from "string-argv"
import { type AgentRequest, type RefusablePart, refusableParts, settingOf } from "../../domain/run/AgentRequest.ts"
import { LeaderError } from "../Leader.ts"
import type { Task } from "./Agent.ts"

export interface Bounds {
  /** The models that webhooks may choose. */
  readonly models: ReadonlyArray<string>
  /** The program's options for each name of `permissions`. The first ones apply when a webhook names none. */
  readonly permissions: ReadonlyMap<string, ReadonlyArray<string>>
}

const any = "any"

/** Reads `--models NAME,… ` and `--permissions NAME='OPTION …'`, which may be repeated; or says what is wrong. */
export const readBounds = (
  words: ReadonlyArray<string>
): Result.Result<{ readonly bounds: Bounds; readonly options: ReadonlyArray<string> }, string> => {
  const models: Array<string> = []
  const permissions = new Map<string, ReadonlyArray<string>>()
  let next = 0
  for (; next < words.length; next++) {
    const [, name, given] = /^--(models|permissions)(?:=(.*))?$/s.exec(words[next]!) ?? []
    if (name === undefined) break
    const value = given ?? words[++next] ?? ""
    if (name === "models") {
      const names = value.split(",").filter((model) => model !== "")
      if (names.length === 0) return Result.fail(`--models needs names, such as haiku,opus, or "${any}"`)
      models.push(...names)
    } else {
      const [, profile, options = ""] = /^([a-z0-9][a-z0-9-]{0,62})=(.*)$/s.exec(value) ?? []
      if (profile === undefined) {
        return Result.fail(`--permissions needs a name and options, such as read-only='…'; not "${value}"`)
      }
      permissions.set(profile, parseArgv(options))
    }
  }
  const late = words.slice(next).find((word) => /^--(models|permissions|stall-timeout|workspace[\w-]*)(=|$)/.test(word))
  if (late !== undefined)
    return Result.fail(
      `${late.split("=", 1)[0]} is in the wrong place: --workspace and --stall-timeout come first, then --models and --permissions, then the agent's own options`
    )
  return Result.succeed({ bounds: { models, permissions }, options: words.slice(next) })
}

const listed = (names: Iterable<string>): string => [...names].join(", ")

/** Programs' names for the options that a webhook may ask for. */
export interface RequestOptions {
  /** The option for the model; further ones are other names for it. */
  readonly model: ReadonlyArray<string>
  /** Its own limits. Without one, what it reports is counted. */
  readonly max_turns?: string
  readonly max_cost?: string
  /** It reports no costs, so they cannot be counted. */
  readonly hidesCost?: boolean
}

/** The options without these, which each have a value; and their last value. */
const takeOut = (options: ReadonlyArray<string>, names: ReadonlyArray<string>) => {
  const others: Array<string> = []
  let value: string | undefined
  for (let at = 0; at < options.length; at++) {
    const [name, ...rest] = options[at]!.split("=")
    if (!names.includes(name!)) others.push(options[at]!)
    else value = rest.length > 0 ? rest.join("=") : options[++at]
  }
  return { others, value }
}

const lower = (a: number, b: string | undefined): number => (Number(b) > 0 ? Math.min(a, Number(b)) : a)

/** Why webhooks may not choose this model. */
export const modelFault = (model: string, { models }: Bounds): string | undefined => {
  if (models.includes(any) || models.includes(model)) return undefined
  const allowed = models.length === 0 ? "none" : listed(models)
  return `the model "${model}" is not allowed (allowed: ${allowed}). Add it to --models, or change the webhook's \`agent_model\``
}

/** The work of an agent that can be asked for these things alone. */
export const takingOnly = <A>(
  parts: ReadonlyArray<RefusablePart>,
  { prompt }: Pick<Task, "prompt">,
  work: () => Effect.Effect<A, LeaderError>
): Effect.Effect<A, LeaderError> => {
  const { agent = {} } = prompt
  const other = refusableParts.find((part) => agent[part] !== undefined && !parts.includes(part))
  return other === undefined
    ? work()
    : new LeaderError({
        message: `The webhook sets \`${settingOf[other]}\`, which this kind of agent does not support`
      })
}

/** The program's options for a run with this request; or why its operator does not allow it. */
export const optionsFor = (
  { model, permissions: profile, ...limits }: AgentRequest,
  options: ReadonlyArray<string>,
  bounds: Bounds,
  its: RequestOptions
): Result.Result<ReadonlyArray<string>, string> => {
  const { permissions } = bounds
  let all = options
  const set = (names: ReadonlyArray<string>, valueOf: (given: string | undefined) => string) => {
    const { others, value } = takeOut(all, names)
    all = [...others, names[0]!, valueOf(value)]
  }
  if (model !== undefined) {
    const fault = modelFault(model, bounds)
    if (fault !== undefined) return Result.fail(fault)
    set(its.model, () => model)
  }
  const granted = permissions.get(profile ?? permissions.keys().next().value ?? "")
  if (profile !== undefined && granted === undefined) {
    const has = permissions.size === 0 ? "none" : listed(permissions.keys())
    return Result.fail(
      `it has no permissions "${profile}" (it has ${has}). Define them with --permissions, or change the webhook's \`agent_permissions\``
    )
  }
  if (granted !== undefined) all = [...all, ...granted]
  for (const limit of ["max_turns", "max_cost"] as const) {
    const [asked, name] = [limits[limit], its[limit]]
    if (asked !== undefined && name !== undefined) set([name], (given) => String(lower(asked, given)))
  }
  return limits.max_cost !== undefined && its.hidesCost === true
    ? Result.fail("it does not report its cost, so `max_cost` cannot be enforced; use `max_turns`")
    : Result.succeed(all)
}
