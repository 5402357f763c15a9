/** The tables, as Markdown that also reads well in a terminal. */
import { type Contender, connections } from "./Contender.ts"
import type { FigureName, Figures } from "./Measures.ts"
import { overRounds, ratio, type Spread } from "./Statistics.ts"

/** All rounds of each contender, in the order of the tables. */
export type Results = ReadonlyMap<Contender, ReadonlyArray<Figures>>

interface Column {
  readonly title: string
  readonly figure: FigureName
  readonly digits: number
  /** Also the minimum and maximum of all rounds. */
  readonly spread?: true
  /** Also the ratio to the base. */
  readonly ratio?: true
}

interface Table {
  readonly title: string
  readonly columns: ReadonlyArray<Column>
}

const tables: ReadonlyArray<Table> = [
  {
    title: `Triggers that do not wait, ${connections} connections`,
    columns: [
      { title: "accepted/s", figure: "acceptedRate", digits: 0, spread: true, ratio: true },
      { title: "p50, ms", figure: "acceptedP50", digits: 1 },
      { title: "p99, ms", figure: "acceptedP99", digits: 0, spread: true, ratio: true },
      { title: "at the leader meanwhile, /s", figure: "publishedRate", digits: 0 },
      { title: "ended/s, from the backlog", figure: "backlogRate", digits: 0 }
    ]
  },
  {
    title: "Triggers that wait for the answer",
    columns: [
      { title: "one caller, p50, ms", figure: "aloneP50", digits: 2, spread: true, ratio: true },
      { title: `${connections} callers, one team, /s`, figure: "oneTeamRate", digits: 0, spread: true, ratio: true },
      { title: `${connections} callers, 16 teams, /s`, figure: "manyTeamsRate", digits: 0, spread: true, ratio: true }
    ]
  },
  {
    title: `CPU time, ms: of a run that is waited for by one caller, and by ${connections}; of an accepted trigger`,
    columns: [
      { title: "server: one caller", figure: "aloneServerCpu", digits: 2 },
      { title: "one team", figure: "oneTeamServerCpu", digits: 2 },
      { title: "16 teams", figure: "manyTeamsServerCpu", digits: 2 },
      { title: "accepted", figure: "acceptedServerCpu", digits: 2 },
      { title: "store: one caller", figure: "aloneStoreCpu", digits: 2 },
      { title: "one team", figure: "oneTeamStoreCpu", digits: 2 },
      { title: "16 teams", figure: "manyTeamsStoreCpu", digits: 2 },
      { title: "accepted", figure: "acceptedStoreCpu", digits: 2 }
    ]
  },
  {
    title: "Statements of a run that is waited for",
    columns: [
      { title: "one caller", figure: "aloneStatements", digits: 2 },
      { title: "one team", figure: "oneTeamStatements", digits: 2 },
      { title: "16 teams", figure: "manyTeamsStatements", digits: 2 }
    ]
  },
  {
    title: "At rest",
    columns: [
      { title: "start to ready, s", figure: "startSeconds", digits: 2, spread: true },
      { title: "idle memory, MB", figure: "idleMemory", digits: 0, spread: true }
    ]
  }
]

const formatted = (value: number, digits: number) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })

const cellOf = (spread: Spread | undefined, column: Column): string => {
  if (spread === undefined) return "–"
  const [median, least, most] = [spread.median, spread.least, spread.most].map((n) => formatted(n, column.digits))
  return column.spread === undefined ? median! : `${median} (${least}–${most})`
}

const cellsOf = (rounds: ReadonlyArray<Figures>, base: ReadonlyArray<Figures> | undefined, column: Column) => {
  const cell = cellOf(overRounds(rounds, column.figure), column)
  if (column.ratio === undefined) return [cell]
  const value = ratio(rounds, base, column.figure)
  return [cell, value === undefined ? "–" : formatted(value, 2)]
}

const grid = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, n) => Math.max(3, ...rows.map((row) => row[n]!.length)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join(" | ")} |`
  const rule = `|${widths.map((width, n) => (n === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`
  return [line(rows[0]!), rule, ...rows.slice(1).map(line)].join("\n")
}

/** Contenders for which none of the columns applies are left out. */
const render = ({ columns, title }: Table, results: Results, base: ReadonlyArray<Figures> | undefined): string => {
  const head = ["", ...columns.flatMap((column) => [column.title, ...(column.ratio ? ["ratio"] : [])])]
  const rows = [...results]
    .filter(([, rounds]) => columns.some(({ figure }) => overRounds(rounds, figure) !== undefined))
    .map(([contender, rounds]) => [contender.title, ...columns.flatMap((column) => cellsOf(rounds, base, column))])
  return rows.length === 0 ? "" : `### ${title}\n\n${grid([head, ...rows])}`
}

/** Ratios are against `base`: the median of the ratios in each round. */
export const report = (results: Results, base: Contender): string =>
  tables
    .map((table) => render(table, results, results.get(base)))
    .filter((text) => text !== "")
    .join("\n\n")
