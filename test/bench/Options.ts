import { parseArgs } from "node:util"

const usage = `npm run bench -- [options]

  --quick             short rounds that only show that everything works
  --rounds <n>        the number of rounds (5, with --quick 2)
  --only <name>       only this contender; may be repeated. The base of the ratios is by-hand, or else the first one
  --compare <folder>  also measures the version that is built in this folder, as "compared" and "compared-embedded"
  --load <wrk|raw>    the load generator (wrk if it is installed)
  --write             writes test/bench/measured.md even with --quick, --only or --compare`

/** The duration of each part of a contender's turn, in seconds. */
export interface Seconds {
  /** Maximum, before each kind of measurement. */
  readonly warmUp: number
  /** After each such part, checks whether the server is warm. */
  readonly warmUpPart: number
  /** At the beginning of each turn of waiting callers, because the contender was idle during the others' turns. */
  readonly warmAgain: number
  readonly alone: number
  readonly waiting: number
  readonly accepting: number
  readonly backlog: number
}

export interface Options {
  readonly quick: boolean
  readonly rounds: number
  readonly only: ReadonlyArray<string>
  readonly compare: string | undefined
  readonly load: "wrk" | "raw" | undefined
  readonly write: boolean
  readonly seconds: Seconds
  /** As typed, without the path of a folder. */
  readonly command: string
}

const full: Seconds = { warmUp: 30, warmUpPart: 2, warmAgain: 4, alone: 2, waiting: 3, accepting: 4, backlog: 1 }
const short: Seconds = { warmUp: 1, warmUpPart: 1, warmAgain: 1, alone: 1, waiting: 1, accepting: 1, backlog: 1 }

const parse = (args: Array<string>) =>
  parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
      compare: { type: "string" },
      load: { type: "string" },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  }).values

const stop = (text: string, code: number): never => {
  console.log(text)
  process.exit(code)
}

export const readOptions = (args: Array<string>): Options => {
  let values: ReturnType<typeof parse>
  try {
    values = parse(args)
  } catch (error) {
    return stop(`${(error as Error).message}\n\n${usage}`, 2)
  }
  const { compare, help, load, only, quick } = values
  if (help) return stop(usage, 0)
  const rounds = Number(values.rounds ?? (quick ? 2 : 5))
  if (!Number.isInteger(rounds) || rounds < 1) return stop(`--rounds must be 1 or more\n\n${usage}`, 2)
  if (load !== undefined && load !== "wrk" && load !== "raw") return stop(`--load is wrk or raw\n\n${usage}`, 2)
  const withoutFolder = (arg: string) => (compare === undefined ? arg : arg.replace(compare, "<folder>"))
  return {
    quick,
    rounds,
    only,
    compare,
    load,
    write: values.write || !(quick || only.length > 0 || compare !== undefined),
    seconds: quick ? short : full,
    command: ["npm run bench", ...(args.length > 0 ? ["--"] : []), ...args.map(withoutFolder)].join(" ")
  }
}
