import { type FormEvent, useState } from "react"
import { useLocation } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import { webhookSettingNames } from "../../domain/WebhookSettings.ts"
import { api } from "../api/Client.ts"
import { faultAt } from "../api/Errors.ts"
import { queries, runAction, useTeams } from "../api/Queries.ts"
import type { Server, Webhook } from "../api/Types.ts"
import { Button, LinkButton } from "../components/Button.tsx"
import { ConfirmDialog } from "../components/ConfirmDialog.tsx"
import { ErrorNotice, Notice } from "../components/Notice.tsx"
import { TeamPicker } from "../components/TeamPicker.tsx"
import { TemplateField, useTemplate } from "../components/TemplateField.tsx"
import { TemplatePreview } from "../components/TemplatePreview.tsx"
import { TextField } from "../components/TextField.tsx"
import { toast } from "../components/Toasts.tsx"
import { renameInputs, type VariableInput } from "../components/VariableInput.ts"
import { parseSettings, SettingFields, settingTexts, withDefaults } from "../components/WebhookSettings.tsx"
import { releaseNavigation, useNavigationGuard } from "../frame/NavigationGuard.ts"
import { setNewToken } from "./NewToken.ts"

/** After the faults have been rendered, moves the focus to the first of them. */
const focusFirstFault = () =>
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>("form [aria-invalid=true], form [data-invalid] button")?.focus()
  )

/** What the form's fields hold when it is opened. */
const fieldsOf = (webhook: Webhook | undefined) => ({
  name: webhook?.name ?? "",
  team: webhook?.team ?? "",
  template: webhook?.prompt_template ?? "",
  settings: settingTexts(webhook)
})

export const WebhookForm = ({ server, webhook }: { readonly server: Server; readonly webhook?: Webhook }) => {
  const [, navigate] = useLocation()
  const teams = useTeams()
  // As the form was opened: the webhook may be changed elsewhere, and read again, while the form is open.
  const [initial] = useState(() => fieldsOf(webhook))
  const [name, setName] = useState(initial.name)
  const [team, setTeam] = useState(initial.team)
  const [template, setTemplate] = useState(initial.template)
  const [settings, setSettings] = useState(initial.settings)
  const [samples, setSamples] = useState<ReadonlyArray<VariableInput>>([])
  const [submitted, setSubmitted] = useState(false)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const { names, broken } = useTemplate(template)
  const changed =
    name !== initial.name ||
    team !== initial.team ||
    template !== initial.template ||
    webhookSettingNames.some((setting) => settings[setting] !== initial.settings[setting])
  const leaving = useNavigationGuard(changed)
  const parsed = parseSettings(settings)
  const faults = {
    name: name.trim() === "" ? "Enter a name." : undefined,
    team: team === "" ? "Choose the team that receives the prompt." : undefined,
    prompt_template: template === "" ? "Enter the prompt template." : undefined,
    ...parsed.faults
  }
  /** What is wrong with a field: here once the form has been submitted, or by the server's response. */
  const faultOf = (field: keyof typeof faults) => (submitted ? faults[field] : undefined) ?? faultAt(error, `/${field}`)

  const save = async () => {
    const fields = { name: name.trim(), team, prompt_template: template }
    if (webhook) {
      const saved = await runAction(
        api.webhooks.edit({ path: { id: webhook.id }, payload: { ...fields, ...withDefaults(parsed) } })
      )
      queries.setQueryData(["webhook", webhook.id], saved)
      toast("Saved. The changes apply to the next trigger.")
      return pathTo("webhook", webhook)
    }
    const created = await runAction(api.webhooks.create({ payload: { ...fields, ...parsed.values } }))
    setNewToken(created)
    return pathTo("callWebhook", created.webhook)
  }

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (pending) return
    if (broken || Object.values(faults).some((fault) => fault !== undefined)) return focusFirstFault()
    setPending(true)
    setError(undefined)
    try {
      const next = await save()
      void queries.invalidateQueries({ queryKey: ["webhooks"] })
      await releaseNavigation()
      navigate(next, { replace: true })
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }

  const chosenTeam = teams.data?.find((each) => each.team === team)
  return (
    <form onSubmit={submit} noValidate>
      <div className="editor">
        <div className="card stack">
          <TextField
            label="Name"
            value={name}
            onChange={setName}
            required
            maxLength={255}
            placeholder="Merge request review"
            fault={faultOf("name")}
          />
          <TeamPicker value={team} onChange={setTeam} fault={faultOf("team")} />
          {chosenTeam && !chosenTeam.running && (
            <Notice tone="warning">
              No leader of this team is connected, so triggers get 409. The team's page shows how to connect one.
            </Notice>
          )}
          <TemplateField value={template} onChange={setTemplate} fault={faultOf("prompt_template")} />
          <SettingFields texts={settings} onChange={setSettings} server={server} faultOf={faultOf} />
          {error !== undefined && <ErrorNotice error={error} />}
          <div className="row end">
            <LinkButton to={webhook ? pathTo("webhook", webhook) : pathTo("webhooks")}>Cancel</LinkButton>
            <Button type="submit" variant="primary" pending={pending}>
              {webhook ? "Save" : "Create webhook"}
            </Button>
          </div>
        </div>
        <TemplatePreview text={template} samples={renameInputs(samples, names)} onChange={setSamples} />
      </div>
      {leaving && (
        <ConfirmDialog
          title="Leave without saving?"
          action="Leave"
          cancel="Stay"
          onClose={leaving.cancel}
          onConfirm={leaving.confirm}
        >
          <p>Your changes have not been saved.</p>
        </ConfirmDialog>
      )}
    </form>
  )
}
