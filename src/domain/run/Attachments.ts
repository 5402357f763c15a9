/**
 * Files that a request names by URL: a webhook's `attachments` say where it names them, and from which hosts the server fetches
 * them. Browser-safe.
 */
import { Budget } from "../evaluation/Budget.ts"
import * as Jmespath from "../evaluation/Jmespath.ts"
import { isStorable } from "../StorableText.ts"
import type { JsonObject } from "../webhook/WebhookSettingKinds.ts"
import { mostFiles, type RunFile, storedFile } from "./RunFile.ts"

/** The kinds of destinations whose token their service takes for files, too. */
const tokenKinds = ["github", "slack-message"] as const

interface AllowedHosts {
  /** Where files may be: `host`, `*.suffix`, each perhaps with a port and the beginning of a path. */
  readonly hosts: ReadonlyArray<string>
  /** Where these hosts may redirect to. They never get a token. */
  readonly redirects?: ReadonlyArray<string>
  /** Files of its own service are fetched with the token of the webhook's destination of this kind. */
  readonly token_of?: (typeof tokenKinds)[number]
}

export interface Attachments extends AllowedHosts {
  /** An expression for a URL, `{url, name?, type?}`, or a list of them. Slack's files may have an `id` in place of a URL. */
  readonly urls?: string
  /** An expression for a text, or a list of texts, whose links to `hosts` are files. */
  readonly links_in?: string
}

/** Where a file is fetched from, as the webhook said at its run's acceptance. The URL may be a secret. */
export interface FileSource extends AllowedHosts {
  readonly url: string
}

/** A file of a run that was not sent. Without a source, there is none to fetch: `missing` says why. */
export type NamedFile = RunFile & { readonly source?: FileSource }

export const attachmentExpressions = ["urls", "links_in"] as const
const members: ReadonlyArray<string> = [...attachmentExpressions, "hosts", "redirects", "token_of"]

const mostHosts = 20
const longestHost = 300
const longestUrl = 4_000
/** The maximum number of files that are read from a request. */
const mostFound = 1_000

const hostPattern =
  /^(\*\.(?=[^/:]*\.))?((?:[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d])?\.)*[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)(?::(\d{1,5}))?(\/(?:[\w.~-]+\/)*)?$/

const isHosts = (value: unknown, fewest: number): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.length >= fewest && value.length <= mostHosts && value.every(isHost)

const isHost = (host: unknown): boolean => {
  if (typeof host !== "string" || host.length > longestHost || /\/\.{1,2}\//.test(host)) return false
  const [, , , port] = hostPattern.exec(host) ?? []
  return hostPattern.test(host) && (port === undefined || (Number(port) > 0 && Number(port) < 65_536))
}

const hostsDetail = `hosts in lower case, such as \`files.slack.com\`, \`*.example.com\` or \`github.com/user-attachments/\``

/** The faults of the setting besides its expressions. */
export const faultsOfAttachments = (setting: JsonObject): ReadonlyArray<string> => {
  const { hosts, redirects, token_of, ...rest } = setting
  const unknown = Object.keys(rest).filter((name) => !members.includes(name))
  const isExpression = (value: unknown) => typeof value === "string" && value !== ""
  const given = attachmentExpressions.filter((name) => rest[name] !== undefined)
  return [
    ...unknown.map((name) => `has no member \`${name.slice(0, 100)}\`: it may have ${members.join(", ")}`),
    ...(given.length === 0 ? ["needs `urls` or `links_in`: where requests name files"] : []),
    ...given.filter((name) => !isExpression(rest[name])).map((name) => `\`${name}\` must be a JMESPath expression`),
    ...(isHosts(hosts, 1) ? [] : [`\`hosts\` must be 1 to ${mostHosts} ${hostsDetail}`]),
    ...(redirects === undefined || isHosts(redirects, 0)
      ? []
      : [`\`redirects\` must be up to ${mostHosts} ${hostsDetail}`]),
    ...(token_of === undefined || tokenKinds.some((kind) => kind === token_of)
      ? []
      : [`\`token_of\` must be one of ${tokenKinds.join(", ")}`])
  ]
}

/** Whether the URL is at one of the hosts. Whether it is https, and its address public, the request decides. */
export const isAt = (url: URL, hosts: ReadonlyArray<string>): boolean =>
  hosts.some((text) => {
    const [, suffix, host = "", port = "", path] = hostPattern.exec(text) ?? []
    const isNamed = suffix === undefined ? url.hostname === host : url.hostname.endsWith(`.${host}`)
    const isPort = url.port === (port === "443" && url.protocol === "https:" ? "" : port)
    // Some servers take these for slashes, and so the path for another one.
    const isPath = path === undefined || (url.pathname.startsWith(path) && !/%(2f|5c)/i.test(url.pathname))
    return isNamed && isPort && isPath
  })

export interface Found {
  readonly url?: string | undefined
  /** Slack's, of a file without a URL. */
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly type?: string | undefined
}

const listOf = (value: unknown): ReadonlyArray<unknown> =>
  (Array.isArray(value) ? value : [value]).slice(0, mostFound).filter((item) => item !== null && item !== undefined)

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

const foundIn = (item: unknown): Found => {
  if (typeof item !== "object") return { url: textOf(item) }
  const { id, name, type, url } = item as Readonly<Record<string, unknown>>
  return { url: textOf(url), id: textOf(id), name: textOf(name), type: textOf(type) }
}

/** In Markdown and HTML, also as the value of an attribute. The work for one, and for comparing it with each host. */
const linkWork = 500
const links = /https?:\/\/[^\s<>"'`()[\]{}\\|]+/gi

/** Characters that follow a link in a sentence, or mark it. */
const isAfterLink = (character: string | undefined) => character !== undefined && ".,;:!?*_~".includes(character)

const linksIn = (text: unknown, hosts: ReadonlyArray<string>, budget: Budget): ReadonlyArray<Found> => {
  if (typeof text !== "string") return []
  budget.spend(text.length)
  const found: Array<Found> = []
  for (const [link] of text.matchAll(links)) {
    budget.spend(link.length + linkWork * (1 + hosts.length))
    let end = link.length
    while (isAfterLink(link[end - 1])) end--
    const url = link.slice(0, end).replaceAll("&amp;", "&")
    if (URL.canParse(url) && isAt(new URL(url), hosts)) found.push({ url })
  }
  return found
}

/** The files that the input names, each URL once. Fails if an expression fails. */
export const findIn = (
  { hosts, links_in, urls }: Attachments,
  input: unknown,
  { budget = new Budget(), compile = Jmespath.compile } = {}
): ReadonlyArray<Found> => {
  const valueOf = (text: string | undefined) =>
    text === undefined ? null : Jmespath.evaluate(compile(text), input, budget)
  const found = [
    ...listOf(valueOf(urls)).map(foundIn),
    ...listOf(valueOf(links_in)).flatMap((text) => linksIn(text, hosts, budget))
  ]
  const known = new Set<string>()
  return found.slice(0, mostFound).filter(({ id, url }) => {
    const key = url ?? id
    return key === undefined || (!known.has(key) && known.add(key))
  })
}

const lastPart = ({ pathname }: URL): string => {
  const part = pathname.split("/").at(-1) ?? ""
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The scheme of a source that only has Slack's ID of a file: where the file is, `files.info` says. */
export const slackFile = "slack-file:"
const slackId = /^F[A-Z0-9]{2,30}$/

/** The files of a run whose request named these, beside those that it sent. What cannot be fetched is there, too, and why. */
export const namedFiles = (
  found: ReadonlyArray<Found> | "failed",
  { hosts, redirects, token_of }: Attachments,
  sent: ReadonlyArray<RunFile>
): ReadonlyArray<NamedFile> => {
  const files: Array<RunFile> = [...sent]
  const named: Array<NamedFile> = []
  const add = (name: string, type: string | undefined, more: Pick<NamedFile, "missing" | "source">) => {
    const id = `in-${files.length + 1}`
    const { bytes: _, size: __, ...file } = storedFile(id, { name, type, bytes: new Uint8Array() }, files)
    files.push(file)
    named.push({ ...file, ...more })
  }
  if (found === "failed") {
    add("attachments", undefined, { missing: "The expressions of the webhook's `attachments` fail for this request." })
    return named
  }
  const room = Math.max(0, mostFiles - sent.length)
  for (const { id, name, type, url: text } of found.slice(0, room)) {
    if (text === undefined && token_of === "slack-message" && id !== undefined && slackId.test(id)) {
      add(name ?? id, type, { source: { url: slackFile + id, hosts, ...(redirects && { redirects }), token_of } })
      continue
    }
    const url = text !== undefined && text.length <= longestUrl && URL.canParse(text) ? new URL(text) : undefined
    const given = name ?? (url === undefined ? "file" : lastPart(url))
    if (url === undefined || !isStorable(url.href)) add(given, type, { missing: "The request names no URL for it." })
    else if (!isAt(url, hosts)) add(given, type, { missing: "Its URL is not at one of the webhook's hosts." })
    else {
      const allowed = { hosts, ...(redirects && { redirects }), ...(token_of && { token_of }) }
      add(given, type, { source: { url: url.href, ...allowed } })
    }
  }
  const more = found.length - room
  if (more > 0) {
    const missing = `${more} more ${more === 1 ? "file was" : "files were"} left out: a request may have ${mostFiles}.`
    add("more files", undefined, { missing })
  }
  return named
}
