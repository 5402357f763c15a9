import { type ReactNode, useState } from "react"
import { formatNumber } from "../format/Format.ts"
import { Button } from "./Button.tsx"

type Ids = ReadonlySet<string>

/** The rows of a list that are selected, by their IDs. */
export const useSelection = () => {
  const [ids, setIds] = useState<Ids>(new Set())
  return {
    ids,
    select: (chosen: Iterable<string>) => setIds(new Set(chosen)),
    toggle: (id: string) => {
      const after = new Set(ids)
      if (!after.delete(id)) after.add(id)
      setIds(after)
    }
  }
}

/** How many rows are selected, and what can be done with them. */
export const SelectionBar = ({
  label,
  count,
  note,
  page,
  onSelect,
  more,
  children
}: {
  readonly label: string
  /** The number of selected rows. */
  readonly count: number
  readonly note?: string
  /** The IDs of the rows on the screen. */
  readonly page: ReadonlyArray<string>
  readonly onSelect: (ids: ReadonlyArray<string>) => void
  /** Another way to select. */
  readonly more?: ReactNode
  readonly children: ReactNode
}) => (
  <div className="row selection" role="group" aria-label={label}>
    <span className="small muted" role="status">
      {count === 0 ? "None selected" : `${formatNumber(count)} selected`}
      {note}
    </span>
    {more}
    {count < page.length && (
      <Button compact variant="quiet" onPress={() => onSelect(page)}>
        Select all on this page
      </Button>
    )}
    {count > 0 && (
      <Button compact variant="quiet" onPress={() => onSelect([])}>
        Select none
      </Button>
    )}
    {children}
  </div>
)
