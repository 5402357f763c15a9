import { Result } from "effect"

/** The operator's options of a preset that has its own. */
interface Options<Name extends string> {
  readonly values: { readonly [N in Name]?: string }
  /** The words from the first one that is no option on. */
  readonly rest: ReadonlyArray<string>
}

/** Reads `--name value` or `--name=value`, and flags, whose value is empty; or says what is wrong. */
export const readOptions = <Name extends string>(
  words: ReadonlyArray<string>,
  names: ReadonlyArray<Name>,
  flags: ReadonlyArray<Name> = []
): Result.Result<Options<Name>, string> => {
  const values: { [N in Name]?: string } = {}
  let next = 0
  while (words[next]?.startsWith("--")) {
    const [, name = "", given] = /^--([^=]*)(?:=(.*))?$/s.exec(words[next]!) ?? []
    const known = [...names, ...flags].find((each) => each === name)
    if (known === undefined) {
      return Result.fail(`--${name} is not an option. The options are ${names.map((each) => `--${each}`).join(", ")}`)
    }
    const isFlag = flags.includes(known)
    const value = given ?? (isFlag ? "" : words[++next])
    if (value === undefined || (value === "") !== isFlag) return Result.fail(`--${name} needs a value`)
    values[known] = value
    next++
  }
  return Result.succeed({ values, rest: words.slice(next) })
}

/** The URL without a slash at its end. */
export const readHttpUrl = (name: string, text: string): Result.Result<string, string> =>
  /^https?:/.test(text) && URL.canParse(text)
    ? Result.succeed(text.replace(/\/+$/, ""))
    : Result.fail(`--${name} needs an http or https URL; not "${text}"`)
