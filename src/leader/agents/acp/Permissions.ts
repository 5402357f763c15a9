/** What an agent may do, as it asks for it over the Agent Client Protocol. */
import { Either } from "effect"
import { at, listAt, textAt } from "../output/Reading.ts"

/** The kinds of tools that the protocol knows. */
const kinds = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]

export type Allowed = ReadonlySet<string>

/** Reads the kinds of tools that are allowed without asking: a list with commas, `all` or `none`. */
export const readAllowed = (text: string | undefined, title: string): Either.Either<Allowed, string> => {
  const all = `${kinds.join(", ")}; or all, or none`
  if (text === undefined) {
    return Either.left(`nobody can grant ${title} permissions while it works. Say what it may do with --allow: ${all}`)
  }
  if (text === "all") return Either.right(new Set(kinds))
  const names = text === "none" ? [] : text.split(",").map((name) => name.trim())
  const unknown = names.find((name) => !kinds.includes(name))
  return unknown === undefined ? Either.right(new Set(names)) : Either.left(`--allow takes ${all}; not "${unknown}"`)
}

/** The answer to a request for a permission, and what was not allowed. */
export const decide = (allowed: Allowed, request: unknown) => {
  const tool = at(request, "toolCall")
  const kind = textAt(tool, "kind") ?? "other"
  const isAllowed = allowed.has(kind)
  const options = listAt(request, "options")
  const wanted = isAllowed ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"]
  const [optionId] = wanted.flatMap((name) =>
    options.flatMap((option) => (at(option, "kind") === name ? (textAt(option, "optionId") ?? []) : []))
  )
  return {
    outcome: optionId === undefined ? { outcome: "cancelled" as const } : { outcome: "selected" as const, optionId },
    ...(!isAllowed && { denied: `${kind}: ${textAt(tool, "title") ?? "a tool"}`.slice(0, 200) })
  }
}
