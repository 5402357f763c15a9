import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { titleOf } from "../../../domain/run/RunTitle.ts"
import { useRun } from "../../api/Queries.ts"
import { Button } from "../../components/Button.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { StatusBadge } from "../../components/run/Status.tsx"
import { UserText } from "../../components/UserText.tsx"
import { useShortcuts } from "../../frame/Shortcuts.ts"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { Facts } from "./Facts.tsx"
import { RunContent } from "./Run.tsx"

/** There is room for a run beside the list. Elsewhere, a click opens the run's page. */
const hasRoom = () => window.matchMedia("(min-width: 75rem)").matches

/** The run that is shown beside the list. It is in the address. */
export const useRunPanel = () => {
  const filters = useUrlFilters()
  const shown = filters.get("run")
  return {
    shown,
    show: (id: string): boolean => {
      if (!hasRoom()) return false
      filters.set({ run: id }, { replace: shown !== "" })
      return true
    },
    close: () => filters.set({ run: "" }, { replace: true })
  }
}

/** A run beside the list, which stays usable. Escape closes it. */
export const RunPanel = ({ run_id, onClose }: { readonly run_id: string; readonly onClose: () => void }) => {
  const run = useRun(run_id)
  useShortcuts({ Escape: onClose })
  return (
    <section className="run-panel card stack" aria-label="Run">
      <div className="row between">
        <h2>{run.data ? <UserText>{titleOf(run.data)}</UserText> : "Run"}</h2>
        <Button compact variant="quiet" onPress={onClose}>
          Close
        </Button>
      </div>
      <Loaded query={run} lines={8}>
        {(loaded) => (
          <>
            <div className="row between">
              <StatusBadge run={loaded} />
              <Link to={pathTo("run", loaded)} state={{ list: withoutPanel(window.location.search) }}>
                Open its page
              </Link>
            </div>
            <RunContent run={loaded} replying={false} />
            <Facts run={loaded} />
          </>
        )}
      </Loaded>
    </section>
  )
}

/** The search part of the list's own address, for “Newer run” and “Older run” on the run's page. */
export const withoutPanel = (search: string): string => {
  const filters = new URLSearchParams(search)
  filters.delete("run")
  return filters.size === 0 ? "" : `?${filters}`
}
