/** The pages of docs/sources, one a service, written from the recipes. */
import type { Recipe, SecretOrigin } from "../../src/recipes/Recipe.ts"
import { recipeNames, recipes } from "../../src/recipes/Recipes.ts"

const introduction = `# Services that call webhooks

For each service, a recipe prepares the whole webhook: prompt, filter, and the check of signature or secret. Choose it in the web
UI under “New webhook”, or on the command line. Both then show the steps at the service.

\`\`\`
webhook-trigger webhook create --from github --team review
\`\`\`

The service must reach the server at its \`PUBLIC_URL\`; on your own machine, use a
[tunnel](../start/github.md#1-make-the-server-reachable). Recipes take [whole requests](../use/webhooks.md#whole-requests), queue
runs while the team has no leader, and [mark text](../use/webhooks.md#protect-against-prompt-injection) that strangers may write.
Everything can be edited. These pages are generated from \`src/recipes\`.
`

const width = 125

/** The text in lines; those after the first begin with as many blanks as its mark has characters. */
const wrapped = (text: string, mark = ""): string => {
  const all: Array<string> = []
  for (const word of text.split(" ")) {
    const last = all.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) all[all.length - 1] = `${last} ${word}`
    else all.push(`${last === undefined ? mark : " ".repeat(mark.length)}${word}`)
  }
  return all.join("\n")
}

const secretTexts: Readonly<Record<SecretOrigin, string>> = {
  "made here": "The secret is made with the webhook.",
  "known before": "The webhook needs the service's secret.",
  "shown after": "When the service shows its secret, set it as the webhook's."
}

/** Notes name pages of the documentation, since the web UI shows them, too. */
const linked = (note: string): string => note.replaceAll(/docs\/(\w+)\/([\w-]+)\.md/g, "[$2](../$1/$2.md)")

const page = (name: string, recipe: Recipe): string => {
  const { config, documentation, label, notes, secret, steps, summary, verification } = recipe
  const language =
    config === undefined ? "" : ({ ".sh": "sh", ".json": "json" }[/\.\w+$/.exec(config.file)![0]] ?? "yaml")
  const checked = `Verification: [\`${verification.preset}\`](../use/verification.md#presets). ${secretTexts[secret]}`
  return `# ${label}

${summary} Recipe: \`${name}\` ([how to use it](README.md)).
${checked} At the service:

${steps.map((step, index) => wrapped(step, `${index + 1}. `)).join("\n")}
${config === undefined ? "" : `\n\`\`\`${language}\n${config.text}\`\`\`\n`}
${notes.map((note) => wrapped(linked(note), "- ")).join("\n")}
- [Format of its requests](${documentation})
`
}

/** The texts by the names of their files. */
export const sourcePages = (): ReadonlyMap<string, string> => {
  const rows = recipeNames.map((name) => `| [${recipes[name].label}](${name}.md) | ${recipes[name].summary} |`)
  const index = `${introduction}\n${["| Service | Recipe |", "|---|---|", ...rows].join("\n")}\n`
  return new Map([
    ["README.md", index],
    ...recipeNames.map((name) => [`${name}.md`, page(name, recipes[name])] as const)
  ])
}
