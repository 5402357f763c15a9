/** The results of the parts, as one table each. */

export interface Measured {
  readonly title: string
  /** The columns' titles. The first one names a row's subject. */
  readonly head: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  /** Remarks. */
  readonly notes: ReadonlyArray<string>
}

export const formatted = (value: number, digits = 0): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })

export const medianOf = (numbers: ReadonlyArray<number>): number => {
  const sorted = [...numbers].sort((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.floor(sorted.length / 2)]!) / 2
}

const grid = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, n) => Math.max(3, ...rows.map((row) => row[n]!.length)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join(" | ")} |`
  const rule = `|${widths.map((width, n) => (n === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`
  return [line(rows[0]!), rule, ...rows.slice(1).map(line)].join("\n")
}

export const toMarkdown = ({ head, notes, rows, title }: Measured): string =>
  [`### ${title}`, ...(rows.length > 0 ? [grid([head, ...rows])] : []), ...notes].join("\n\n")
