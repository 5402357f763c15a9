import { dateTime } from "../form/DateField.tsx"

/** In place of a list of runs. A search that stopped early has not seen all of them: it goes on with the next page. */
export const NoRuns = ({
  filtered,
  searchedBackTo,
  none
}: {
  readonly filtered: boolean
  readonly searchedBackTo: string | undefined
  /** If there are none at all. */
  readonly none: string
}) => (
  <div className="empty">
    {searchedBackTo === undefined ? (
      <p>{filtered ? "No runs match." : none}</p>
    ) : (
      <p role="status">
        No run since {dateTime.format(new Date(searchedBackTo))} matches. The search stopped there; older runs may
        match.
      </p>
    )}
  </div>
)
