import { type FormEvent, useState } from "react"
import { useLocation } from "wouter"
import { listeningSettings } from "../../../domain/webhook/Listening.ts"
import { api } from "../../api/Client.ts"
import { faultAt } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import { Button } from "../../components/Button.tsx"
import { ErrorNotice } from "../../components/Notice.tsx"
import { pageOfNew, setNewToken } from "../webhook/NewToken.ts"
import { TeamPicker } from "./TeamPicker.tsx"

/** Until the first request says what the webhook is for. */
const draft = { name: "New webhook", prompt_template: "{{payload}}", ...listeningSettings }

/** Makes a webhook that listens: it shows the first request, which then fills in the form. */
export const Listen = () => {
  const [, navigate] = useLocation()
  const [team, setTeam] = useState("")
  const [submitted, setSubmitted] = useState(false)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const missing = submitted && team === "" ? "Choose the team that receives the prompt." : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (pending || team === "") return
    setPending(true)
    setError(undefined)
    try {
      const created = await runAction(() => api.webhooks.create({ payload: { ...draft, team } }))
      setNewToken(created)
      void queries.invalidateQueries({ queryKey: ["webhooks"] })
      navigate(pageOfNew(created), { replace: true })
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  return (
    <form className="card stack" onSubmit={(event) => void submit(event)} noValidate>
      <p>
        You get the trigger URL first. Whatever is sent there is shown and starts no run. Then make the webhook from a
        request: its service is recognized, and its values can be clicked into the template.
      </p>
      <div className="setting-fields">
        <TeamPicker value={team} onChange={setTeam} fault={missing ?? faultAt(error, "/team")} />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <div className="row end">
        <Button type="submit" variant="primary" pending={pending}>
          Listen
        </Button>
      </div>
    </form>
  )
}
