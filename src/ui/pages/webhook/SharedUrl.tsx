/** Webhooks that share a URL. */
import type { ReactNode } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { useWebhooks } from "../../api/Queries.ts"
import { SearchableSelect } from "../../components/form/SearchableSelect.tsx"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"

/** A webhook by its name. The key may not see those of other teams. */
export const WebhookName = ({ id }: { readonly id: string }) => {
  const webhook = useWebhooks().data?.find((one) => one.id === id)
  if (webhook === undefined) return <>another webhook</>
  return (
    <Link to={pathTo("webhook", webhook)}>
      <UserText>{webhook.name}</UserText>
    </Link>
  )
}

/** A fact: the webhooks that share this one's URL, if any. It takes the list of all, so it is only where facts are. */
export const UrlSharers = ({ id }: { readonly id: string }): ReactNode => {
  const sharing = useWebhooks().data?.filter(({ shares }) => shares === id) ?? []
  return (
    sharing.length > 0 && (
      <div>
        <dt>URL shared by</dt>
        <dd>
          {sharing.map((one, index) => (
            <span key={one.id}>
              {index > 0 && ", "}
              <WebhookName id={one.id} />
            </span>
          ))}
        </dd>
      </div>
    )
  )
}

export const SharedUrlField = ({
  label,
  value,
  onChange,
  help,
  fault
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly help: string
  readonly fault: string | undefined
}) => {
  const webhooks = useWebhooks().data ?? []
  const others = webhooks.filter(({ shares }) => shares === undefined)
  return (
    <SearchableSelect
      label={label}
      value={value}
      onChange={onChange}
      options={[
        ["", "Its own URL (default)"],
        ...others.map(({ id, name }) => [id, showDirectionMarks(name)] as const),
        ...(value === "" || others.some(({ id }) => id === value) ? [] : [[value, "Another webhook"] as const])
      ]}
      help={help}
      fault={fault}
    />
  )
}
