import { Fragment, useState } from "react"
import { pathTo } from "../../../api/Pages.ts"
import { type DiffLine, diffLines, hunksOf } from "../../../domain/prompt/LineDiff.ts"
import { changesBesideText } from "../../../domain/prompt/TemplateChanges.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction, useTemplate, useTemplates, useWebhook } from "../../api/Queries.ts"
import type { TemplateVersion, TemplateVersionSummary } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { RawText } from "../../components/RawText.tsx"
import { toast } from "../../components/Toasts.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { plural } from "../../format/Format.ts"
import { ExactTime } from "../../format/Time.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"

const actors: Record<TemplateVersionSummary["actor"], string> = {
  admin_key: "with the admin key",
  api_key: "with the API key",
  session: "in the web UI",
  host: "by this server",
  automatic: "by this server",
  unknown: "by an unknown client"
}

/** The versions of a webhook's template, with their changes. Each can be restored. */
const TemplatesPage = ({ id }: { readonly id: string }) => {
  const webhook = useWebhook(id)
  const templates = useTemplates(id)
  const name = webhook.data?.name ?? "Webhook"
  return (
    <Page title="Versions of the template" back={{ to: pathTo("webhook", { id }), text: name }}>
      <Loaded query={templates}>{({ data }) => <Content id={id} versions={data} />}</Loaded>
    </Page>
  )
}

const Content = ({
  id,
  versions
}: {
  readonly id: string
  readonly versions: ReadonlyArray<TemplateVersionSummary>
}) => {
  const filters = useUrlFilters()
  const wanted = Number(filters.get("version"))
  // A run has the webhook's version. Its template may have been set in an earlier version.
  const found = wanted > 0 ? versions.findIndex(({ version }) => version <= wanted) : 0
  const selected = versions[found]
  return (
    <div className="side-by-side">
      <section className="card stack tight" aria-label="Versions">
        <ul className="versions">
          {versions.map((each, index) => (
            <li key={each.version}>
              <button
                type="button"
                className="version"
                aria-pressed={each === selected}
                onClick={() => filters.set({ version: String(each.version) })}
              >
                <strong>
                  Version {each.version}
                  {index === 0 && ", current"}
                </strong>
                <span className="small muted">
                  <ExactTime at={each.at} /> {actors[each.actor]}
                  {each.key_name !== undefined && ` ${showDirectionMarks(each.key_name)}`}
                  {each.person_name !== undefined && ` ${showDirectionMarks(each.person_name)}`}
                  {each.client_address !== undefined && `, from ${each.client_address}`}
                </span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      {selected === undefined ? (
        <p className="muted">The template of this version is no longer stored.</p>
      ) : (
        <Version id={id} selected={selected} before={versions[found + 1]} isCurrent={found === 0} />
      )}
    </div>
  )
}

const Version = ({
  id,
  selected: { version },
  before,
  isCurrent
}: {
  readonly id: string
  readonly selected: TemplateVersionSummary
  readonly before: TemplateVersionSummary | undefined
  readonly isCurrent: boolean
}) => {
  const template = useTemplate(id, version)
  const earlier = useTemplate(id, before?.version)
  const [confirming, setConfirming] = useState(false)
  const restore = async () => {
    const restored = await runAction(() =>
      api.webhooks.restoreTemplate({ path: { id, version: String(version) }, headers: {} })
    )
    setConfirming(false)
    await queries.invalidateQueries()
    toast(`Restored as version ${restored.version}`)
  }
  return (
    <section className="card stack" aria-label={`Version ${version}`}>
      <div className="row between">
        <h2>Version {version}</h2>
        {!isCurrent && (
          <Button needs="webhooks.restoreTemplate" onPress={() => setConfirming(true)}>
            Restore
          </Button>
        )}
      </div>
      <Loaded query={template}>
        {(data) => (
          <>
            {before !== undefined && (
              <>
                <h3>Changes since version {before.version}</h3>
                <Loaded query={earlier}>{(loaded) => <TemplateDiff before={loaded} after={data} />}</Loaded>
              </>
            )}
            <h3>Template</h3>
            <RawText text={data.prompt_template} title="Template" what="the template" />
          </>
        )}
      </Loaded>
      {confirming && (
        <ConfirmDialog
          title={`Restore version ${version}?`}
          action="Restore"
          onConfirm={restore}
          onClose={() => setConfirming(false)}
        >
          <p>
            New requests will use this template with its language and input. The current template stays in this list.
          </p>
        </ConfirmDialog>
      )}
    </section>
  )
}

const marks: Record<DiffLine["kind"], { readonly sign: string; readonly word: string }> = {
  same: { sign: " ", word: "" },
  removed: { sign: "-", word: "removed: " },
  added: { sign: "+", word: "added: " }
}

/** The changes between two templates. Each line has a sign and a word, not only a colour. */
const TemplateDiff = ({ before, after }: { readonly before: TemplateVersion; readonly after: TemplateVersion }) => {
  const hunks = hunksOf(diffLines(before.prompt_template, after.prompt_template))
  return (
    <>
      {changesBesideText(before, after).map(({ from, label, to }) => (
        <p key={label}>
          {label}: <del>{from}</del> <ins>{to}</ins>
        </p>
      ))}
      {hunks.length === 0 ? <p className="muted">The text of the template is the same.</p> : <Hunks hunks={hunks} />}
    </>
  )
}

const Hunks = ({ hunks }: { readonly hunks: ReturnType<typeof hunksOf> }) => (
  <div className="diff mono" tabIndex={0} role="region" aria-label="Changes">
    {hunks.map(({ lines, skipped }) => (
      <Fragment key={`${lines[0]!.before} ${lines[0]!.after}`}>
        {skipped > 0 && <div className="diff-skipped muted small">{plural(skipped, "unchanged line")}</div>}
        {lines.map(({ after, before, kind, text }) => (
          <div key={`${before} ${after}`} className={`diff-line ${kind}`}>
            <span className="diff-sign" aria-hidden="true">
              {marks[kind].sign}
            </span>
            <span>
              <span className="sr-only">{marks[kind].word}</span>
              {showDirectionMarks(text)}
            </span>
          </div>
        ))}
      </Fragment>
    ))}
  </div>
)

export default TemplatesPage
