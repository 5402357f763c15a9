/** The page docs/use/sources.md, written from the recipes. */

import { textOf, type Value } from "../../src/domain/webhook/WebhookSettingKinds.ts"
import {
  type WebhookSettingName,
  webhookSettingNames,
  webhookSettings
} from "../../src/domain/webhook/WebhookSettings.ts"
import type { Recipe, SecretOrigin } from "../../src/recipes/Recipe.ts"
import { recipeNames, recipes } from "../../src/recipes/Recipes.ts"

const introduction = `# Services that call webhooks

Set up each service on both sides. The web UI does the same under “New webhook”, and then lists the remaining steps. The
webhook keeps a sample of the service's requests, for its “Test” tab and its \`curl\` example.

The examples take [whole requests](webhooks.md#whole-requests), check a [signature or secret](verification.md), and queue runs
while the team has no leader. Text that strangers may write is [marked as data](webhooks.md#protect-against-prompt-injection).
Edit templates, filters and names. This page is generated from \`src/recipes\`.

- Set \`WEBHOOK_TRIGGER_URL\` and \`ADMIN_API_KEY\` ([cli.md](../reference/cli.md)), and replace the team \`demo\` by yours.
- Run \`umask 077\`, so that nobody else can read the secrets' files.
- The service must reach the server at its \`PUBLIC_URL\`. Each command prints the trigger URL once.
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

/** One word of a command line, quoted as far as it has to be. */
const quoted = (word: string): string => {
  if (/^[\w./:=@,-]+$/.test(word)) return word
  if (!word.includes("'")) return `'${word}'`
  return `"${word.replaceAll(/[\\"$`]/g, (character) => `\\${character}`)}"`
}

/** At most so many characters of options in a line. */
const lineLength = 110

const lines = (options: ReadonlyArray<string>): string => {
  const all: Array<string> = []
  for (const option of options) {
    const last = all.at(-1)
    if (last !== undefined && last.length + option.length < lineLength) all[all.length - 1] = `${last} ${option}`
    else all.push(option)
  }
  return all.join(" \\\n  ")
}

const secretLine = (file: string, { secret, verification }: Recipe): string => {
  if (secret === "known before") return `# ${file} must contain the service's secret (see below)`
  const make =
    verification.preset === "standard-webhooks" ? 'echo "whsec_$(openssl rand -base64 24)"' : "openssl rand -hex 32"
  return `${make} > ${file}${secret === "shown after" ? "   # until the service shows its own" : ""}`
}

const secretTexts: Readonly<Record<SecretOrigin, (file: string) => string>> = {
  "made here": (file) => `The secret is in \`${file}\`.`,
  "known before": (file) => `Save the service's secret in \`${file}\` first.`,
  "shown after": (file) =>
    `When the service shows its secret, save it in \`${file}\` and run \`webhook-trigger webhook edit ID --secret-file ${file}\`.`
}

const settingOptions = ({ settings }: Recipe): ReadonlyArray<string> =>
  webhookSettingNames.flatMap((name: WebhookSettingName) => {
    const value: Value | undefined = settings[name]
    return value === undefined ? [] : [`--${webhookSettings[name].option} ${quoted(textOf(value))}`]
  })

const section = (name: string, recipe: Recipe): string => {
  const { config, documentation, label, notes, prompt_template, steps, summary } = recipe
  const { preset, ...options } = recipe.verification
  const file = `${name}.secret`
  const command = lines([
    `webhook-trigger webhook create --name ${quoted(recipe.name)} --team demo`,
    `--verification ${preset} --secret-file ${file}`,
    ...Object.entries(options).map(([option, value]) => `--verification-option ${quoted(`${option}=${value}`)}`),
    ...settingOptions(recipe),
    "--template-file - <<'END'"
  ])
  const language =
    config === undefined ? "" : ({ ".sh": "sh", ".json": "json" }[/\.\w+$/.exec(config.file)![0]] ?? "yaml")
  return `## ${label}

${summary}

\`\`\`sh
${secretLine(file, recipe)}
${command}
${prompt_template}
END
\`\`\`

${wrapped(`${secretTexts[recipe.secret](file)} At the service:`)}

${steps.map((step, index) => wrapped(step, `${index + 1}. `)).join("\n")}
${config === undefined ? "" : `\n\`\`\`${language}\n${config.text}\`\`\`\n`}
${notes.map((note) => wrapped(note, "- ")).join("\n")}
- [Format of its requests](${documentation})
`
}

const anchor = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-")

export const sourcesPage = (): string => {
  const rows = recipeNames.map((name): string => {
    const { label, summary } = recipes[name]
    return `| [${label}](#${anchor(label)}) | ${summary} |`
  })
  const contents = `${["| Service | Recipe |", "|---|---|", ...rows].join("\n")}\n`
  return [introduction, contents, ...recipeNames.map((name) => section(name, recipes[name]))].join("\n")
}
