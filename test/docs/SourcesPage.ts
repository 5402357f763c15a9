/** The page docs/sources.md, written from the recipes. */

import { textOf, type Value } from "../../src/domain/webhook/WebhookSettingKinds.ts"
import {
  type WebhookSettingName,
  webhookSettingNames,
  webhookSettings
} from "../../src/domain/webhook/WebhookSettings.ts"
import type { Recipe, SecretOrigin } from "../../src/recipes/Recipe.ts"
import { recipeNames, recipes } from "../../src/recipes/Recipes.ts"

const introduction = `# Services that call webhooks

How a webhook is set up for each of these services, on both sides. The web UI has the same under “New webhook”: choose the
service, and the form is filled in; the webhook's page then lists what is left to do, until the first request came that was
verified.

All of them take [whole requests](webhooks.md#whole-requests), ask for a [signature or secret](verification.md), and
\`when_team_stopped: "queue"\` keeps what comes while the team has no leader. What strangers may write, such as the text of a
pull request, is marked as data (\`fence\`). Templates, filters and names are a beginning: edit them.
The request to preview them with has the shape that the service documents, with values of our own.

The commands need \`WEBHOOK_TRIGGER_URL\` and \`ADMIN_API_KEY\` ([cli.md](cli.md)), and a team; here it is \`demo\`. Each prints the
trigger URL, once. Run \`umask 077\` first, so that nobody else can read the files with the secrets. The server must be
reachable from the service, and \`PUBLIC_URL\` be its address there.

This page is written from \`src/recipes\`.
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
  if (secret === "known before") return `# In ${file} is the secret, which the service has already: see below.`
  const make =
    verification.preset === "standard-webhooks" ? 'echo "whsec_$(openssl rand -base64 24)"' : "openssl rand -hex 32"
  return `${make} > ${file}${secret === "shown after" ? "   # until the service shows its own" : ""}`
}

const secretTexts: Readonly<Record<SecretOrigin, (file: string) => string>> = {
  "made here": (file) => `The secret is in \`${file}\`.`,
  "known before": (file) => `Put the service's secret into \`${file}\` first.`,
  "shown after": (file) =>
    `Once the service has shown its secret, put that into \`${file}\`, and run \`webhook-trigger webhook edit ID --secret-file ${file}\`.`
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
  const language = config?.file.endsWith(".sh") ? "sh" : "yaml"
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
- What it sends: <${documentation}>.
`
}

const anchor = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-")

export const sourcesPage = (): string => {
  const contents = recipeNames.map((name) => `[${recipes[name].label}](#${anchor(recipes[name].label)})`).join(" · ")
  return [introduction, `${wrapped(contents)}\n`, ...recipeNames.map((name) => section(name, recipes[name]))].join("\n")
}
