/** The completion scripts. Each finds the place by the commands' names before the cursor. */
import { type Option, type Place, quoted, valued } from "./Tree.ts"

type Script = (places: ReadonlyArray<Place>) => string

const pathsOf = (places: ReadonlyArray<Place>) => places.map(({ path }) => path).filter((path) => path !== "")

const words = (list: ReadonlyArray<string>) => quoted(list.join(" "))

const bash: Script = (places) => `# To use it now: source <(webhook-trigger completion bash)
# Works with bash 3.2, as on macOS.
_webhook_trigger_files() {
  local IFS=$'\\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
_webhook_trigger() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}" place="" names="" flags="" word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "\${place:+$place }$word" in
      ${pathsOf(places).map(quoted).join("|")}) place="\${place:+$place }$word" ;;
    esac
  done
  case "$place:$prev" in
${valued(places)
  .map(({ patterns, value }) => {
    if (value === "text") return `    ${patterns}) return ;;`
    return value === "file"
      ? `    ${patterns}) _webhook_trigger_files; return ;;`
      : `    ${patterns}) COMPREPLY=($(compgen -W ${words(value.choices)} -- "$cur")); return ;;`
  })
  .join("\n")}
  esac
  case "$place" in
${places
  .map(({ commands, options, path }) => {
    const flags = words(options.flatMap(({ names }) => names))
    return `    ${quoted(path)}) names=${words(commands.map(({ name }) => name))}; flags=${flags} ;;`
  })
  .join("\n")}
  esac
  if [[ $cur == -* ]]; then names=$flags; fi
  COMPREPLY=($(compgen -W "$names" -- "$cur"))
}
complete -F _webhook_trigger webhook-trigger
`

/** A name and its meaning, for zsh's \`_describe\`. */
const described = (name: string, about: string) => quoted(`${name.replaceAll(":", "\\:")}:${about}`)

const zsh: Script = (places) => `#compdef webhook-trigger
# To use it now: source <(webhook-trigger completion zsh)
_webhook_trigger() {
  local place="" word
  local -a names flags
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${place:+$place }$word" in
      (${pathsOf(places).map(quoted).join("|")}) place="\${place:+$place }$word" ;;
    esac
  done
  case "$place:\${words[CURRENT-1]}" in
${valued(places)
  .map(({ patterns, value }) => {
    if (value === "text") return `    (${patterns}) return ;;`
    return value === "file"
      ? `    (${patterns}) _files; return ;;`
      : `    (${patterns}) compadd -- ${value.choices.map(quoted).join(" ")}; return ;;`
  })
  .join("\n")}
  esac
  case "$place" in
${places
  .map(({ commands, options, path }) => {
    const flags = options.flatMap(({ about, names }) => names.map((name) => described(name, about)))
    return `    (${quoted(path)})
      names=(${commands.map(({ about, name }) => described(name, about)).join(" ")})
      flags=(${flags.join(" ")}) ;;`
  })
  .join("\n")}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o option flags
  elif (( \${#names} )); then
    _describe command names
  fi
}
if [[ "\${funcstack[1]}" == _webhook_trigger ]]; then
  _webhook_trigger "$@"
else
  compdef _webhook_trigger webhook-trigger
fi
`

/** As one word of fish, which knows two escapes between single quotes. */
const fishQuoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const fishValue = ({ value }: Option): string => {
  if (value === undefined) return ""
  if (value === "file") return " -r -F"
  return value === "text" ? " -x" : ` -x -a ${fishQuoted(value.choices.join(" "))}`
}

const fishName = (name: string) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)

const fish: Script = (places) => `# To use it now: webhook-trigger completion fish | source
function __webhook_trigger_at
    set -l place
    for word in (commandline -opc)[2..-1]
        switch (string join ' ' -- $place $word)
            case ${pathsOf(places).map(fishQuoted).join(" ")}
                set place $place $word
        end
    end
    test "$place" = "$argv"
end
complete -c webhook-trigger -f
${places
  .flatMap(({ commands, options, path }) => {
    const start = `complete -c webhook-trigger -n ${fishQuoted(`__webhook_trigger_at ${fishQuoted(path)}`)}`
    return [
      ...commands.map(({ about, name }) => `${start} -a ${name} -d ${fishQuoted(about)}`),
      ...options.map(
        (option) =>
          `${start} ${option.names.map(fishName).join(" ")}${fishValue(option)} -d ${fishQuoted(option.about)}`
      )
    ]
  })
  .join("\n")}
`

export const scripts = { bash, zsh, fish } as const
export type Shell = keyof typeof scripts
export const shells = Object.keys(scripts) as [Shell, ...Array<Shell>]
