import { Fragment } from "react"
import { type DiffLine, diffLines, hunksOf } from "../../../domain/prompt/LineDiff.ts"
import { changesBesideText } from "../../../domain/prompt/TemplateChanges.ts"
import type { TemplateVersion } from "../../api/Types.ts"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { plural } from "../../format/Format.ts"

const marks: Record<DiffLine["kind"], { readonly sign: string; readonly word: string }> = {
  same: { sign: " ", word: "" },
  removed: { sign: "-", word: "removed: " },
  added: { sign: "+", word: "added: " }
}

/** The changes between two templates. Each line has a sign and a word, not only a colour. */
export const TemplateDiff = ({
  before,
  after
}: {
  readonly before: TemplateVersion
  readonly after: TemplateVersion
}) => {
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
