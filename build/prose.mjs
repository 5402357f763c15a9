/**
 * Fails on prose that is hard to read: long sentences on average, overlong ones, and phrases that no native writer uses. It also
 * fails on links to pages, files and headings that do not exist.
 * It reads the documentation and, in `src`, the comments and the texts that people see.
 * `node build/prose.mjs docs/reference/cli.md` checks that page alone.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { marked } from "marked"

const averageWords = 20
const mostWords = 40

const banned = [
  /\bwho(m)?(so)?ever\b/i,
  /\bof which\b/i,
  /\bwhat is rare\b/i,
  /(^|[.:] )for that,? /im,
  /\bin its place\b/i,
  /\bheed(s|ed|ing)?\b/i,
  /\bfor ever\b/i,
  /\b(meanwhile changed|changed meanwhile)\b/i
]

/** The text of paragraphs and list items; not that of code blocks, tables and headings. A piece of code counts as a word. */
const paragraphsOf = (tokens) =>
  tokens.flatMap((token) => {
    if (token.type === "paragraph" || token.type === "text") return [textOf(token.tokens ?? [token])]
    if (token.type === "list") return token.items.flatMap((item) => paragraphsOf(item.tokens))
    return token.type === "blockquote" ? paragraphsOf(token.tokens) : []
  })

const textOf = (tokens) =>
  tokens
    .map((token) => {
      if (token.type === "codespan") return "Code"
      if (token.type === "html") return ""
      return token.tokens === undefined ? (token.text ?? " ") : textOf(token.tokens)
    })
    .join("")

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" })
const sentencesOf = (paragraph) =>
  [...segmenter.segment(paragraph.replaceAll(/\s+/g, " "))].map(({ segment }) => segment.trim()).filter(Boolean)
const wordsIn = (sentence) => sentence.split(" ").filter((word) => /[\p{L}\p{N}]/u.test(word)).length

const overlong = (sentences) =>
  sentences.filter((each) => wordsIn(each) > mostWords).map((each) => `${wordsIn(each)} words: ${each}`)
const bannedIn = (text) =>
  banned.flatMap((phrase) => (phrase.exec(text) ? [`not “${phrase.exec(text)[0].trim()}”`] : []))

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (page) => {
  const seen = new Map()
  const headings = marked.lexer(readFileSync(page, "utf8")).filter(({ type }) => type === "heading")
  return headings.map(({ text }) => {
    const anchor = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-")
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

/** The relative links of a page that lead nowhere. Links in code are examples. */
const brokenLinksOf = (page, source) => {
  const text = source.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "").replaceAll(/`[^`\n]*`/g, "code")
  const links = [...text.matchAll(/(?:\]\(|(?:src|srcset|href)=")(?![a-z]+:)([^)\s"#]*)(?:#([^)\s"]*))?[)"]/g)]
  return links.flatMap(([, path, anchor]) => {
    const target = path === "" ? page : join(dirname(page), path)
    if (!existsSync(target)) return [`no file for the link ${path}`]
    if (anchor === undefined || anchorsOf(statSync(target).isDirectory() ? page : target).includes(anchor)) return []
    return [`no heading for the link ${path}#${anchor}`]
  })
}

/** The pages that a text of the program or of a file for deployment names, and that do not exist. */
const missingPagesIn = (source) =>
  [...source.matchAll(/(?<![\w/.-])docs\/[\w/-]+\.md/g)].flatMap(([page]) =>
    existsSync(page) ? [] : [`no page ${page}`]
  )

/** The source files that a comment or a page names by a path, and that do not exist. The path may begin in `src`. */
const missingFilesIn = (source) =>
  [...source.matchAll(/`(?:src\/)?((?:[\w-]+\/)+[\w-]+\.tsx?)`/g)].flatMap(([, path]) =>
    [path, `src/${path}`].some((file) => existsSync(file)) ? [] : [`no file ${path}`]
  )

const faultsOf = (page) => {
  const source = readFileSync(page, "utf8").replace(/^---\n.*?\n---\n/s, "")
  const sentences = paragraphsOf(marked.lexer(source)).flatMap(sentencesOf)
  const average = sentences.reduce((sum, sentence) => sum + wordsIn(sentence), 0) / sentences.length
  const prose = source.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "").replaceAll(/`[^`]*`/g, "code")
  return [
    ...(average > averageWords ? [`sentences have ${average.toFixed(1)} words on average, over ${averageWords}`] : []),
    ...overlong(sentences),
    ...bannedIn(prose),
    ...brokenLinksOf(page, source),
    ...(page.startsWith("docs/internals/decisions") || page === "CHANGELOG.md" ? [] : missingFilesIn(source)),
    ...missingPagesIn(source)
  ]
}

/** The comments and texts of a source file. A value or a piece of code in them counts as a word. */
const textsIn = (source) =>
  [...source.matchAll(/\/\*\*?(.*?)\*\/|((?:^ *\/\/[^\n]*\n)+)|"((?:[^"\\\n]|\\.)*)"|`(?:[^`\\]|\\.)*`/gms)]
    .map(([, block, lines, string = ""]) => block ?? lines ?? string)
    .flatMap((text) =>
      text
        .replaceAll(/^ *(\*|\/\/) ?/gm, "")
        .replaceAll(/`[^`]*`/g, "Code")
        // A list's item, a tag or an empty line ends a sentence.
        .split(/\n\s*(?:\n|- |\d+\. |@)|\\n/)
    )
    .filter((text) => !/\{[{%]|=>|[;{]\n| = /.test(text))

const faultsInCode = (file) => {
  const source = readFileSync(file, "utf8")
  return [
    ...overlong(textsIn(source).flatMap(sentencesOf)),
    ...bannedIn(source),
    ...missingPagesIn(source),
    ...missingFilesIn(source)
  ]
}

const everyPage = [
  ...readdirSync("."),
  ...readdirSync("docs", { recursive: true }).map((name) => `docs/${name}`)
].filter((name) => name.endsWith(".md"))
const asked = process.argv.slice(2)
const pages = asked.length > 0 ? asked : everyPage
const code = (asked.length > 0 ? [] : readdirSync("src", { recursive: true }).map((name) => `src/${name}`)).filter(
  // What is compiled from pages is checked there.
  (name) => /\.tsx?$/.test(name) && name !== "src/recipes/Compiled.ts"
)
const others = (asked.length > 0 ? [] : ["test", "deploy", "build"])
  .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`))
  .filter((name) => /\.(tsx?|mjs|py|ya?ml|txt|sh)$/i.test(name))
const faults = [
  ...pages.flatMap((page) => faultsOf(page).map((fault) => `${page}: ${fault}`)),
  ...code.flatMap((file) => faultsInCode(file).map((fault) => `${file}: ${fault}`)),
  ...others.flatMap((file) => missingPagesIn(readFileSync(file, "utf8")).map((fault) => `${file}: ${fault}`))
]
if (faults.length > 0) {
  console.error(faults.join("\n"))
  process.exitCode = 1
}
