import { useWebhooks } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { SearchableSelect } from "../components/form/SearchableSelect.tsx"
import { UserText } from "../components/UserText.tsx"

/** As in `ApiKeyDraft`. */
const most = 20

/** The webhooks that a key is limited to. None selected: all webhooks of its teams. */
export const WebhookLimit = ({
  chosen,
  onChange,
  fault
}: {
  readonly chosen: ReadonlyArray<string>
  readonly onChange: (chosen: ReadonlyArray<string>) => void
  readonly fault?: string | undefined
}) => {
  const webhooks = useWebhooks().data ?? []
  const nameOf = (id: string) => webhooks.find((webhook) => webhook.id === id)?.name ?? id
  const others = webhooks.filter(({ id }) => !chosen.includes(id)).map(({ id, name }) => [id, name] as const)
  return (
    <>
      {chosen.length < most && (
        <SearchableSelect
          label="Webhooks"
          value=""
          onChange={(id) => id !== "" && onChange([...chosen, id])}
          options={[["", chosen.length === 0 ? "All webhooks" : "Add a webhook"], ...others]}
          fault={fault}
        />
      )}
      {chosen.length > 0 && (
        <ul className="stack tight" aria-label="Selected webhooks">
          {chosen.map((id) => (
            <li key={id} className="row between">
              <UserText>{nameOf(id)}</UserText>
              <Button
                compact
                label={`Remove ${nameOf(id)}`}
                onPress={() => onChange(chosen.filter((each) => each !== id))}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** The names of the webhooks that a key is limited to, as a sentence. */
export const WebhookNames = ({ ids }: { readonly ids: ReadonlyArray<string> }) => {
  const { data } = useWebhooks()
  if (data === undefined) return null
  const names = data.filter(({ id }) => ids.includes(id)).map(({ name }) => name)
  const deleted = ids.length - names.length
  return (
    <>
      Webhooks: <UserText>{[...names, ...(deleted > 0 ? [`${deleted} deleted`] : [])].join(", ")}</UserText>.{" "}
    </>
  )
}
