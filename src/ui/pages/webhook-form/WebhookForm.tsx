import { type FormEvent, useRef, useState } from "react"
import { useLocation } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { api } from "../../api/Client.ts"
import { ApiError, faultAt } from "../../api/Errors.ts"
import { queries, runAction, useSample, useTeams } from "../../api/Queries.ts"
import type { Server, Webhook } from "../../api/Types.ts"
import { Button, LinkButton } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { submitOnCtrlEnter } from "../../components/form/KeyedAction.ts"
import { TextField } from "../../components/form/TextField.tsx"
import { inputsOfSample, renameInputs, requestInputs, type VariableInput } from "../../components/form/VariableInput.ts"
import { ErrorNotice } from "../../components/Notice.tsx"
import { TeamNotice } from "../../components/run/TeamNotice.tsx"
import { toast } from "../../components/Toasts.tsx"
import { releaseNavigation, useNavigationGuard } from "../../frame/NavigationGuard.ts"
import { pageOfNew, setNewSecret, setNewToken } from "../webhook/NewToken.ts"
import { ConflictDialog } from "./ConflictDialog.tsx"
import { useTemplate } from "./EditedTemplate.ts"
import type { FormDraft } from "./RecipeDraft.ts"
import { addOffered, notTaken, OfferedDestination, offerFault, RecipeFacts } from "./RecipeSummary.tsx"
import { SettingGroups } from "./SettingGroups.tsx"
import { TeamPicker } from "./TeamPicker.tsx"
import { TemplateField } from "./TemplateField.tsx"
import { TemplatePreview } from "./TemplatePreview.tsx"
import { SecretField, verificationFaults, verificationValues } from "./VerificationFields.tsx"
import { type Conflict, changedFields, merge, textsOf, type WebhookTexts } from "./WebhookFields.ts"
import { parseSettings, withDefaults } from "./WebhookSettings.tsx"

const plainFields = ({ name, team, prompt_template }: WebhookTexts) => ({ name: name.trim(), team, prompt_template })

/** The fields in the short form of a recipe. */
const shortFields: ReadonlySet<string> = new Set(["name", "team", "secret", "offer"])

/** Focuses the first invalid field once the errors are rendered, even in a closed group. */
const focusFirstFault = () =>
  requestAnimationFrame(() => {
    const field = document.querySelector<HTMLElement>("form [aria-invalid=true], form [data-invalid] button")
    const fold = field?.closest("details")
    if (fold) fold.open = true
    field?.focus()
  })

export const WebhookForm = ({
  server,
  webhook,
  draft
}: {
  readonly server: Server
  readonly webhook?: Webhook
  readonly draft?: FormDraft | undefined
}) => {
  const [, navigate] = useLocation()
  const teams = useTeams()
  const recipe = draft?.recipe
  // The webhook when the form was opened. It may be edited elsewhere in the meantime.
  const [base, setBase] = useState(() => ({
    version: webhook?.version,
    texts: webhook || !draft ? textsOf(webhook) : draft.texts
  }))
  const [texts, setTexts] = useState(draft?.texts ?? base.texts)
  const set = (change: Partial<WebhookTexts>) => setTexts((before) => ({ ...before, ...change }))
  const [conflicts, setConflicts] = useState<ReadonlyArray<Conflict>>([])
  const sample = useSample(webhook)
  const [typed, setSamples] = useState<ReadonlyArray<VariableInput> | undefined>(draft?.samples)
  const samples = typed ?? (sample ? inputsOfSample(sample) : [])
  // A recipe needs a team and no more. The rest is shown on request, and when something in it is wrong.
  const [isShort, setIsShort] = useState(recipe !== undefined)
  const [offer, setOffer] = useState(notTaken)
  const [submitted, setSubmitted] = useState(false)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const settings = parseSettings(texts)
  const { coalesce, fence, input, template_language } = settings.values
  const template = useTemplate(
    {
      prompt_template: texts.prompt_template,
      ...(coalesce !== undefined && { coalesce }),
      ...(fence !== undefined && { fence }),
      ...(input !== undefined && { input }),
      ...(template_language !== undefined && { template_language })
    },
    samples
  )
  const templateArea = useRef<HTMLTextAreaElement>(null)
  const takesPayload = texts.input === "payload"
  const leaving = useNavigationGuard(changedFields(base.texts, texts).length > 0)
  const faults = {
    name: texts.name.trim() === "" ? "Enter a name." : undefined,
    team: texts.team === "" ? "Choose the team that receives the prompt." : undefined,
    prompt_template: texts.prompt_template === "" ? "Enter the prompt template." : undefined,
    ...settings.faults,
    ...verificationFaults(texts, webhook),
    offer: offerFault(recipe, offer)
  }
  /** The error message at a JSON Pointer, from this form (once submitted) or from the server. */
  const faultIn = (pointer: string) => {
    const known: { readonly [field: string]: string | undefined } = submitted ? faults : {}
    return known[pointer.slice(1)] ?? faultAt(error, pointer)
  }

  /** The secret that was made here, for the service. */
  const madeSecret = ({ secret }: WebhookTexts) => (secret === draft?.secretForService ? secret : undefined)

  /** Returns the next page. */
  const create = async (): Promise<string> => {
    const { verification, secret } = verificationValues(texts)
    const payload = {
      ...{ ...plainFields(texts), ...parseSettings(texts).values },
      ...(verification && { verification, secret })
    }
    const created = await runAction(() => api.webhooks.create({ payload }))
    if (recipe) await addOffered(created.webhook, recipe, offer)
    setNewToken(created, madeSecret(texts))
    return pageOfNew(created)
  }

  /** Saves the changed fields. Returns the next page, or `undefined` after an edit conflict. */
  const edit = async ({ id }: Webhook, from: typeof base, to: WebhookTexts): Promise<string | undefined> => {
    const fields = changedFields(from.texts, to)
    if (fields.length === 0) return pathTo("webhook", { id })
    const all = { ...plainFields(to), ...withDefaults(parseSettings(to)), ...verificationValues(to) }
    const payload = Object.fromEntries(fields.map((field) => [field, all[field]]))
    try {
      const headers = { "if-match": `"${from.version}"` }
      const saved = await runAction(() => api.webhooks.edit({ path: { id }, headers, payload }))
      queries.setQueryData(["webhook", id], saved)
      toast("Saved. The changes apply to new requests.")
      if (recipe) await addOffered(saved, recipe, offer)
      const secret = madeSecret(to)
      if (secret === undefined) return pathTo("webhook", { id })
      setNewSecret(saved, secret)
      return pathTo("callWebhook", { id })
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.status === 412)) throw cause
    }
    const current = await runAction(() => api.webhooks.show({ path: { id } }))
    const now = { version: current.version, texts: textsOf(current) }
    const merged = merge(from.texts, to, now.texts)
    setBase(now)
    setTexts(merged.texts)
    if (merged.conflicts.length === 0) return edit(current, now, merged.texts)
    setConflicts(merged.conflicts)
    return undefined
  }

  const save = async (edited: WebhookTexts) => {
    setPending(true)
    setError(undefined)
    try {
      const next = await (webhook ? edit(webhook, base, edited) : create())
      if (next === undefined) return setPending(false)
      void queries.invalidateQueries({ queryKey: ["webhooks"] })
      await releaseNavigation()
      navigate(next, { replace: true })
    } catch (cause) {
      setError(cause)
      setIsShort(false)
      setPending(false)
    }
  }

  const submit = (event: FormEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (pending) return
    const faulty = Object.entries(faults).filter(([, fault]) => fault !== undefined)
    if (template.broken || faulty.length > 0) {
      if (template.broken || faulty.some(([field]) => !shortFields.has(field))) setIsShort(false)
      return focusFirstFault()
    }
    void save(texts)
  }

  const chosenTeam = teams.data?.find((each) => each.team === texts.team)
  const name = (
    <TextField
      label="Name"
      value={texts.name}
      onChange={(name) => set({ name })}
      required
      maxLength={255}
      placeholder="Merge request review"
      fault={faultIn("/name")}
    />
  )
  const team = (
    <>
      <TeamPicker value={texts.team} onChange={(team) => set({ team })} fault={faultIn("/team")} />
      {chosenTeam && <TeamNotice team={chosenTeam} when_team_stopped={texts.when_team_stopped} />}
    </>
  )
  const destination = recipe && (
    <OfferedDestination recipe={recipe} offer={offer} onOffer={setOffer} fault={faultIn("/offer")} />
  )
  const buttons = (
    <div className="row end">
      <LinkButton to={webhook ? pathTo("webhook", webhook) : pathTo("webhooks")}>Cancel</LinkButton>
      <Button type="submit" variant="primary" pending={pending}>
        {webhook ? "Save" : "Create webhook"}
      </Button>
    </div>
  )
  return (
    <form onSubmit={submit} onKeyDown={submitOnCtrlEnter} noValidate>
      {recipe && isShort ? (
        <div className="card stack">
          <RecipeFacts recipe={recipe} />
          {destination}
          <div className="setting-fields">
            {name}
            <div className="stack tight">{team}</div>
            {recipe.secret === "known before" && (
              <SecretField texts={texts} onChange={set} webhook={webhook} fault={faultIn("/secret")} />
            )}
          </div>
          <div className="row between">
            <Button onPress={() => setIsShort(false)}>Customize</Button>
            {buttons}
          </div>
        </div>
      ) : (
        <div className="editor">
          <div className="card stack">
            {name}
            {team}
            {destination}
            <TemplateField
              value={texts.prompt_template}
              template={template}
              area={templateArea}
              payload={takesPayload}
              onChange={(prompt_template) => set({ prompt_template })}
              fault={faultIn("/prompt_template")}
            />
            <SettingGroups texts={texts} onChange={set} server={server} webhook={webhook} faultAt={faultIn} />
            {error !== undefined && <ErrorNotice error={error} />}
            {buttons}
          </div>
          <TemplatePreview
            text={texts.prompt_template}
            template={template}
            filter={texts.accept_if.trim()}
            filterInput={{ takes: takesPayload ? "requests" : {} }}
            samples={takesPayload ? requestInputs(samples) : renameInputs(samples, template.names)}
            onChange={setSamples}
            webhook={webhook}
            request={
              takesPayload
                ? {
                    language: texts.template_language === "liquid" ? "liquid" : "simple",
                    onInsert: (placeholder) => insertText(templateArea.current!, placeholder)
                  }
                : undefined
            }
          />
        </div>
      )}
      {conflicts.length > 0 && (
        <ConflictDialog
          conflicts={conflicts}
          onClose={() => setConflicts([])}
          onChoose={(chosen) => {
            setConflicts([])
            set(chosen)
            void save({ ...texts, ...chosen })
          }}
        />
      )}
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

/** Inserts text like typing: it replaces the selection and can be undone. */
const insertText = (area: HTMLTextAreaElement, text: string): void => {
  area.focus()
  // Deprecated, but the only way that supports undo.
  if (document.execCommand("insertText", false, text)) return
  area.setRangeText(text, area.selectionStart, area.selectionEnd, "end")
  area.dispatchEvent(new InputEvent("input", { bubbles: true }))
}
