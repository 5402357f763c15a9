import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { useRun } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { Loaded } from "../../components/Loaded.tsx"
import { RawText } from "../../components/RawText.tsx"
import { StatusBadge } from "../../components/run/Status.tsx"
import { ExactTime } from "../../format/Time.tsx"

/** A replay beside its original. */
export const Comparison = ({ run, original }: { readonly run: Run; readonly original: string }) => {
  const query = useRun(original)
  return (
    <section className="card stack tight" aria-label="Comparison with the original">
      <h2>Comparison with the original</h2>
      <Loaded query={query}>
        {(before) => (
          <div className="comparison">
            <Side run={before} title="Original" isLink />
            <Side run={run} title="This replay" />
          </div>
        )}
      </Loaded>
    </section>
  )
}

const Side = ({ run, title, isLink }: { readonly run: Run; readonly title: string; readonly isLink?: boolean }) => {
  const of = title.toLowerCase()
  return (
    <section className="stack tight" aria-label={title}>
      <h3 className="row">
        {isLink ? <Link to={pathTo("run", run)}>{title}</Link> : title} <StatusBadge run={run} />
        <span className="small muted">
          <ExactTime at={run.accepted_at} />
        </span>
      </h3>
      <RawText text={run.conversation.prompt} title="Prompt" what={`the prompt of the ${of}`} />
      {run.conversation.response === undefined ? (
        <p className="small muted">{run.error?.message ?? "No answer"}</p>
      ) : (
        <RawText text={run.conversation.response} title="Answer" what={`the answer of the ${of}`} />
      )}
    </section>
  )
}
