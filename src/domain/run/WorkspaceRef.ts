/** The target of a webhook's `workspace_ref`: one commit, or a branch, which moves. Plain data. */
import { Option } from "effect"
import { lookUp, nameOf, type Path, pathOf } from "../prompt/Path.ts"
import type { Variables } from "./Run.ts"

/** A commit's full hash. Anything else may be another commit later. */
export const isCommit = (ref: string): boolean => /^(?:[\da-f]{40}|[\da-f]{64})$/i.test(ref)

/**
 * Where services have a branch's name, and its commit beside it. The branch of a pull request can be one of a fork; then the name
 * alone means another branch, such as this repository's own `main`.
 */
const places = [
  // GitHub, Gitea, Forgejo: pull requests, workflows, pushes
  { branch: "head.ref", commit: "head.sha", isOfFork: true },
  { branch: "base.ref", commit: "base.sha" },
  { branch: "head_branch", commit: "head_sha", isOfFork: true },
  { branch: "ref", commit: "after" },
  // GitLab: merge requests, pipelines, pushes
  { branch: "source_branch", commit: "last_commit.id", isOfFork: true },
  { branch: "ref", commit: "sha" },
  { branch: "ref", commit: "checkout_sha" },
  // Bitbucket
  { branch: "source.branch.name", commit: "source.commit.hash", isOfFork: true },
  { branch: "destination.branch.name", commit: "destination.commit.hash" }
] as const satisfies ReadonlyArray<{ readonly branch: string; readonly commit: string; readonly isOfFork?: true }>

const endsWith = (name: string, end: string): boolean => name === end || name.endsWith(`.${end}`)

const beside = (name: string, { branch, commit }: (typeof places)[number]): string =>
  name.slice(0, name.length - branch.length) + commit

/** The names in a template. Filters change what they insert, so such a value is none of these. */
const namesIn = (template: string): ReadonlyArray<string> =>
  Array.from(template.matchAll(/\{\{-?\s*([^{}|]+?)\??\s*-?\}\}/g), ([, name]) => nameOf(pathOf(name!)))

/** The commit that the request has beside the branch which the template names; `undefined`: it has none. */
export const commitBeside = (template: string, input: Variables): string | undefined => {
  const [name, ...others] = namesIn(template)
  if (name === undefined || others.length > 0) return undefined
  for (const place of places) {
    if (!endsWith(name, place.branch)) continue
    const value = Option.getOrUndefined(lookUp(pathOf(beside(name, place)) as Path, input))
    if (typeof value === "string" && isCommit(value)) return value
  }
  return undefined
}

/** The names of values that are commits, by their last words. */
const commitName = /(?:^|[._-])(?:sha|hash|commit|after|before|oid|commit_?id|commit\.id|revision)$/i

const isOfCommit = (template: string): boolean => {
  const [name, ...others] = namesIn(template)
  return isCommit(template.trim()) || (name !== undefined && others.length === 0 && commitName.test(name))
}

/** The risk of the template, for people; `undefined`: it names a commit. */
export const riskOfRef = (template: string, isApproved: boolean): string | undefined => {
  if (isOfCommit(template)) return undefined
  const name = namesIn(template).find((name) => places.some(({ branch }) => endsWith(name, branch)))
  const found = places.filter(({ branch }) => name !== undefined && endsWith(name, branch))
  const use = found.length === 0 ? "" : ` Use the commit: \`{{${beside(name!, found[0]!)}}}\`.`
  if (isApproved) {
    return `It names no commit but a branch or tag, which may have moved when the agent starts: a run is only approved for what was shown if it names a commit.${use}`
  }
  return found.some((place) => "isOfFork" in place)
    ? `The branch can be one of a fork. Then the agent works on this repository's own branch of that name, or fails if there is none.${use}`
    : undefined
}
