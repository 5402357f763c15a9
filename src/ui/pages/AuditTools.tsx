import { useState } from "react"
import { auditExports } from "../../api/ExportPaths.ts"
import { describeBreak, describeIntact } from "../../domain/access/AuditChain.ts"
import { api } from "../api/Client.ts"
import { runAction } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { DownloadLink } from "../components/DownloadLink.tsx"
import { Notice } from "../components/Notice.tsx"
import { plural } from "../format/Format.ts"

type Verification = Awaited<ReturnType<typeof api.audit.verify>>

/** Exports the events that match the filter. */
export const AuditExports = ({ filter }: { readonly filter: Readonly<Record<string, string>> }) => (
  <>
    <DownloadLink href={`${auditExports.csv}?${new URLSearchParams(filter)}`}>Export CSV</DownloadLink>
    <DownloadLink href={`${auditExports.jsonl}?${new URLSearchParams(filter)}`}>Export JSON Lines</DownloadLink>
  </>
)

/** A button that checks the hashes of all events, and its result. */
export const useVerification = () => {
  const [verification, setVerification] = useState<Verification>()
  const [pending, setPending] = useState(false)
  const verify = async () => {
    setPending(true)
    setVerification(undefined)
    try {
      setVerification(await runAction(() => api.audit.verify({ query: {} })))
    } finally {
      setPending(false)
    }
  }
  return {
    button: (
      <Button pending={pending} onPress={() => void verify().catch(() => {})}>
        Verify integrity
      </Button>
    ),
    result: <div role="status">{verification && <Result {...verification} />}</div>
  }
}

const Result = ({ broken, events }: Verification) =>
  broken === undefined ? (
    <Notice>{plural(events, "event")} verified: none was changed, removed or inserted.</Notice>
  ) : (
    <Notice tone="danger">
      {describeBreak(broken)}. {describeIntact(events)}.
    </Notice>
  )
