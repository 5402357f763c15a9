import { Button } from "./Button.tsx"

/** Buttons to the newest and the next older entries of a list; nothing if it has one page. */
export const PageButtons = ({
  label,
  cursor,
  next,
  older = "Older",
  onChange
}: {
  /** As in "Pages of runs". */
  readonly label: string
  /** The cursor of this page; empty: the first one. */
  readonly cursor: string
  readonly next: string | null
  readonly older?: string
  readonly onChange: (cursor: string) => void
}) =>
  (cursor !== "" || next !== null) && (
    <nav className="row between" aria-label={label}>
      <Button icon="back" disabled={cursor === ""} onPress={() => onChange("")}>
        Newest
      </Button>
      <Button disabled={next === null} onPress={() => onChange(next ?? "")}>
        {older}
      </Button>
    </nav>
  )
