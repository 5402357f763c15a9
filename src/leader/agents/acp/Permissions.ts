/** An agent's permissions, as it asks for them over the Agent Client Protocol. */
import { Result } from "effect"
import { RecentMap } from "../../../runtime/RecentMap.ts"
import type { Task } from "../Agent.ts"
import { at, isOwnTool, listAt, textAt } from "../output/Reading.ts"

/** The kinds of tools that the protocol knows. */
const kinds = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]

export type Kinds = ReadonlySet<string>

/** Reads the kinds of tools that are allowed without asking: a list with commas, `all` or `none`. */
export const readAllowed = (text: string | undefined, title: string): Result.Result<Kinds, string> =>
  text === undefined
    ? Result.fail(`nobody can grant ${title} permissions while it works. Say what it may do with --allow: ${accepted}`)
    : readKinds("allow", text)

const accepted = `${kinds.join(", ")}; or all, or none`

export const readKinds = (option: string, text: string): Result.Result<Kinds, string> => {
  if (text === "all") return Result.succeed(new Set(kinds))
  const names = text === "none" ? [] : text.split(",").map((name) => name.trim())
  const unknown = names.find((name) => !kinds.includes(name))
  return unknown === undefined
    ? Result.succeed(new Set(names))
    : Result.fail(`--${option} takes ${accepted}; not "${unknown}"`)
}

const kindOf = (request: unknown): string => textAt(request, "toolCall", "kind") ?? "other"

/** Claude Code and Gemini CLI ask before they use our tools. */
const isOwn = (request: unknown): boolean =>
  kindOf(request) === "other" && isOwnTool(textAt(request, "toolCall", "title"))

/** The use of a tool that the agent asks for: `execute: npm test`. */
const wantedIn = (request: unknown): string => `${kindOf(request)}: ${textAt(request, "toolCall", "title") ?? "a tool"}`

/** The names of the request's options of this kind. */
const namesOf = (request: unknown, kind: string): ReadonlyArray<string> =>
  listAt(request, "options").flatMap((option) => (at(option, "kind") === kind ? (textAt(option, "name") ?? []) : []))

/** The answer to a request for a permission, and what was not allowed. `granted`: what a person has allowed. */
export const decide = (allowed: Kinds, request: unknown, granted?: string) => {
  const wanted = wantedIn(request)
  const isAllowed = allowed.has(kindOf(request)) || wanted === granted || isOwn(request)
  const options = listAt(request, "options")
  const sought = isAllowed ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"]
  const [optionId] = sought.flatMap((name) =>
    options.flatMap((option) => (at(option, "kind") === name ? (textAt(option, "optionId") ?? []) : []))
  )
  return {
    outcome: optionId === undefined ? { outcome: "cancelled" as const } : { outcome: "selected" as const, optionId },
    ...(!isAllowed && { denied: wanted.slice(0, 200) })
  }
}

interface Question {
  readonly wanted: string
  /** The replies that grant it. */
  readonly grants: ReadonlyArray<string>
}

/** Permissions that people were asked for. A leader that is started anew has forgotten them, and its agent asks again. */
export const makeAsked = () => {
  const questions = new RecentMap<string, Question>(1_000)
  return {
    /** The question for the request. What a reply grants is remembered until the session's next prompt. */
    ask: (session: string, request: unknown) => {
      const wanted = wantedIn(request)
      const grants = namesOf(request, "allow_once")
      questions.set(session, { wanted, grants })
      return [
        `The agent asks for permission:\n\n\`\`\`\n${wanted.replaceAll("```", "")}\n\`\`\``,
        [...grants, ...namesOf(request, "reject_once")]
      ] as const
    },
    /** The permission that the prompt grants. Only people can reply so: a text of a webhook's caller grants nothing. */
    grantedBy: (
      { prompt, said = prompt.prompt }: Pick<Task, "prompt" | "said">,
      session: string | undefined
    ): string | undefined => {
      if (session === undefined) return undefined
      const question = questions.get(session)
      questions.delete(session)
      return prompt.source === "chat" && question?.grants.includes(said.trim()) ? question.wanted : undefined
    }
  }
}
