import { useState } from "react"
import { Allowed } from "../../api/Access.ts"
import { useAlerts } from "../../api/Queries.ts"
import type { AlertState } from "../../api/Types.ts"
import { SelectField } from "../../components/form/SelectField.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { Destinations } from "../destination/Destinations.tsx"
import { AlertItem } from "./AlertItem.tsx"
import { Rules } from "./Rules.tsx"

type Filter = AlertState | ""

const filters: ReadonlyArray<readonly [Filter, string]> = [
  ["", "All"],
  ["firing", "Firing"],
  ["resolved", "Resolved"]
]

/** Current alerts, the rules by which they begin, and who gets them. */
const AlertsPage = () => {
  const [state, setState] = useState<Filter>("")
  const alerts = useAlerts(state === "" ? {} : { state })
  return (
    <Page title="Alerts">
      <section className="card stack tight" aria-label="Alerts">
        <div className="row between">
          <h2>Latest alerts</h2>
          <SelectField label="State" hideLabel value={state} onChange={setState} options={filters} />
        </div>
        <Loaded query={alerts}>
          {(all) =>
            all.length === 0 ? (
              <p className="muted">{state === "" ? "No alerts yet." : "No alerts in this state."}</p>
            ) : (
              <ul className="attention" aria-label="Alerts, newest first">
                {all.map((alert) => (
                  <AlertItem key={alert.id} alert={alert} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <Allowed needs="alerts.rules">
        <Rules />
      </Allowed>
      <Allowed needs="alertDestinations.list">
        <Destinations />
      </Allowed>
    </Page>
  )
}

export default AlertsPage
