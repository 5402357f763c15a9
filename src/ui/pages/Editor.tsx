import { Either } from "effect"
import { type FormEvent, useState } from "react"
import { useLocation } from "wouter"
import { fill } from "../../domain/Template.ts"
import { api } from "../api/Client.ts"
import { faultAt } from "../api/Errors.ts"
import { act, queries, useServer, useTeams, useWebhook } from "../api/Queries.ts"
import type { Server, Webhook } from "../api/Types.ts"
import { Button, LinkButton } from "../components/Button.tsx"
import { Confirm } from "../components/Confirm.tsx"
import { Field } from "../components/Field.tsx"
import { Failure, Note } from "../components/Note.tsx"
import { Loaded, Page } from "../components/Page.tsx"
import { TeamPicker } from "../components/TeamPicker.tsx"
import { TemplateField, useTemplate } from "../components/TemplateField.tsx"
import { plain } from "../components/Text.tsx"
import { duration } from "../components/Time.tsx"
import { say } from "../components/Toasts.tsx"
import { adapt, type Draft, VariableFields, valuesOf } from "../components/Variables.tsx"
import { letGo, useLeaving } from "../frame/Leaving.ts"
import { keepToken } from "./FreshToken.ts"

const Editor = ({ id }: { readonly id?: string }) => {
  const server = useServer()
  return id === undefined ? (
    <Page title="New webhook" back={{ to: "/webhooks", text: "Webhooks" }}>
      <Loaded from={server}>{(data) => <Form server={data} />}</Loaded>
    </Page>
  ) : (
    <Edit id={id} />
  )
}

const Edit = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  const server = useServer()
  return (
    <Page title="Edit webhook" back={{ to: `/webhooks/${id}`, text: plain(webhook.data?.name ?? "Webhook") }}>
      <Loaded from={server}>
        {(settings) => <Loaded from={webhook}>{(data) => <Form server={settings} webhook={data} />}</Loaded>}
      </Loaded>
    </Page>
  )
}

/** A whole number within its bounds, or nothing. */
const number = (text: string, most: number): number | undefined | "wrong" => {
  if (text.trim() === "") return undefined
  const value = Number(text)
  return Number.isInteger(value) && value >= 1 && value <= most ? value : "wrong"
}

const Form = ({ server, webhook }: { readonly server: Server; readonly webhook?: Webhook }) => {
  const [, navigate] = useLocation()
  const teams = useTeams()
  const [name, setName] = useState(webhook?.name ?? "")
  const [team, setTeam] = useState(webhook?.team ?? "")
  const [text, setText] = useState(webhook?.prompt_template ?? "")
  const [timeout, setTimeout] = useState(webhook?.timeout_seconds?.toString() ?? "")
  const [limit, setLimit] = useState(webhook?.max_concurrent?.toString() ?? "")
  const [samples, setSamples] = useState<ReadonlyArray<Draft>>([])
  const [tried, setTried] = useState(false)
  const [pending, setPending] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const { names, broken } = useTemplate(text)
  const written = name !== (webhook?.name ?? "") || text !== (webhook?.prompt_template ?? "")
  const leaving = useLeaving(written)
  const timeoutValue = number(timeout, 86_400)
  const limitValue = number(limit, 10_000)
  const faults = {
    name: name.trim() === "" ? "Give it a name." : undefined,
    team: team === "" ? "Choose the team that gets the prompt." : undefined,
    template: text === "" ? "Write the prompt." : undefined,
    timeout: timeoutValue === "wrong" ? "A whole number of seconds from 1 to 86400." : undefined,
    limit: limitValue === "wrong" ? "A whole number from 1 to 10000." : undefined
  }
  const shown = (field: keyof typeof faults, pointer: string) =>
    (tried ? faults[field] : undefined) ?? faultAt(failure, pointer)

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (pending) return
    if (broken || Object.values(faults).some((fault) => fault !== undefined)) {
      // After the faults are drawn: the first of them gets the focus.
      requestAnimationFrame(() =>
        document.querySelector<HTMLElement>("form [aria-invalid=true], form [data-invalid] button")?.focus()
      )
      return
    }
    setPending(true)
    setFailure(undefined)
    const common = { name: name.trim(), team, prompt_template: text }
    try {
      if (webhook) {
        const saved = await act(
          api.webhooks.edit({
            path: { id: webhook.id },
            payload: {
              ...common,
              timeout_seconds: (timeoutValue as number | undefined) ?? null,
              max_concurrent: (limitValue as number | undefined) ?? null
            }
          })
        )
        queries.setQueryData(["webhook", webhook.id], saved)
        void queries.invalidateQueries({ queryKey: ["webhooks"] })
        say("Saved. It holds from the next trigger on.")
        letGo()
        navigate(`/webhooks/${webhook.id}`, { replace: true })
      } else {
        const made = await act(
          api.webhooks.create({
            payload: {
              ...common,
              ...(timeoutValue === undefined ? {} : { timeout_seconds: timeoutValue as number }),
              ...(limitValue === undefined ? {} : { max_concurrent: limitValue as number })
            }
          })
        )
        keepToken(made)
        void queries.invalidateQueries({ queryKey: ["webhooks"] })
        letGo()
        navigate(`/webhooks/${made.webhook.id}/call`, { replace: true })
      }
    } catch (error) {
      setFailure(error)
      setPending(false)
    }
  }

  const chosen = teams.data?.find((each) => each.team === team)
  return (
    <form onSubmit={submit} noValidate>
      <div className="editor">
        <div className="card stack">
          <Field
            label="Name"
            value={name}
            onChange={setName}
            required
            maxLength={255}
            placeholder="Review of a merge request"
            fault={shown("name", "/name")}
          />
          <TeamPicker value={team} onChange={setTeam} fault={shown("team", "/team")} />
          {chosen && !chosen.running && (
            <Note kind="warn">
              No leader of this team is connected. Triggers are refused with 409 until one is; the team's page says how
              to connect it.
            </Note>
          )}
          <TemplateField value={text} onChange={setText} fault={shown("template", "/prompt_template")} />
          <div className="pair">
            <Field
              label="Timeout in seconds"
              value={timeout}
              onChange={setTimeout}
              inputMode="numeric"
              placeholder={String(server.webhook_timeout_seconds)}
              help={`How long an answer may take. Left empty: ${duration(server.webhook_timeout_seconds * 1000)}, the default.`}
              fault={shown("timeout", "/timeout_seconds")}
            />
            <Field
              label="Runs at once"
              value={limit}
              onChange={setLimit}
              inputMode="numeric"
              placeholder={String(server.webhook_max_concurrent)}
              help={`More triggers wait their turn. Left empty: ${server.webhook_max_concurrent}, the default.`}
              fault={shown("limit", "/max_concurrent")}
            />
          </div>
          {failure !== undefined && <Failure error={failure} />}
          <div className="row end">
            <LinkButton to={webhook ? `/webhooks/${webhook.id}` : "/webhooks"}>Cancel</LinkButton>
            <Button type="submit" look="primary" pending={pending}>
              {webhook ? "Save" : "Create webhook"}
            </Button>
          </div>
        </div>
        <Try text={text} samples={adapt(samples, names)} onChange={setSamples} />
      </div>
      {leaving && (
        <Confirm
          title="Leave without saving?"
          action="Leave"
          back="Stay here"
          onClose={leaving.stay}
          onConfirm={leaving.confirm}
        >
          <p>What you wrote here is not saved.</p>
        </Confirm>
      )}
    </form>
  )
}

/** Sample values beside the template, and the prompt that they make. */
const Try = ({
  text,
  samples,
  onChange
}: {
  readonly text: string
  readonly samples: ReadonlyArray<Draft>
  readonly onChange: (samples: ReadonlyArray<Draft>) => void
}) => {
  const { template } = useTemplate(text)
  const values = valuesOf(samples)
  const filled = template && values && fill(template, values)
  return (
    <section className="card stack try" aria-label="Try it">
      <h2>Try it with sample values</h2>
      {text === "" ? (
        <p className="muted small">The variables of the template appear here, and the prompt they make.</p>
      ) : (
        <>
          <VariableFields all={samples} onChange={onChange} />
          <div className="stack tight">
            <h3>What the team gets</h3>
            <output className="rendered">
              {filled && Either.isRight(filled) ? (
                filled.right.map((piece, i) =>
                  i % 2 === 0 ? piece : <mark key={i}>{piece === "" ? "\u2009" : plain(piece)}</mark>
                )
              ) : (
                <span className="muted">
                  {template ? "Waits for values that can be read." : "Waits for the braces to be mended."}
                </span>
              )}
            </output>
          </div>
        </>
      )}
    </section>
  )
}

export default Editor
