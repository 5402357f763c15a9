/** Webhooks that share a URL. */
import type { ReactNode } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { useWebhooks } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
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

/** Whose URL a webhook shares, or which webhooks share its own. */
export const SharedUrl = ({ webhook: { id, shares } }: { readonly webhook: Webhook }): ReactNode => {
  const sharing = useWebhooks().data?.filter((one) => one.shares === id) ?? []
  if (shares !== undefined) {
    return (
      <span>
        Shares the URL of <WebhookName id={shares} />
      </span>
    )
  }
  if (sharing.length === 0) return null
  return (
    <span>
      Requests are also offered to{" "}
      {sharing.map((one, index) => (
        <span key={one.id}>
          {index > 0 && ", "}
          <WebhookName id={one.id} />
        </span>
      ))}
    </span>
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
