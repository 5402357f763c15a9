import type { ReactNode } from "react"
import { pathTo } from "../../../api/Pages.ts"
import { recipeOf, serviceOf } from "../../../recipes/Recipes.ts"
import { useRefused } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button, LinkButton } from "../../components/Button.tsx"
import { Icon, type IconName } from "../../components/Icon.tsx"
import { ExactTime, RelativeTime } from "../../format/Time.tsx"
import { SetupSteps } from "./SetupSteps.tsx"

type State = "done" | "open" | "refused"

const icons: Readonly<Record<State, IconName>> = { done: "check", open: "dots", refused: "warning" }
const words: Readonly<Record<State, string>> = { done: "Done", open: "To do", refused: "Rejected" }

const Item = ({ state, children }: { readonly state: State; readonly children: ReactNode }) => (
  <li className={state}>
    <Icon name={icons[state]} />
    <div className="stack tight grow">
      <span className="sr-only">{words[state]}: </span>
      {children}
    </div>
  </li>
)

/** The steps until the first verified request. */
const SetupChecklist = ({ webhook, onDismiss }: { readonly webhook: Webhook; readonly onDismiss: () => void }) => {
  const { secret_hint, secret_set_at = "", verification, verified_at } = webhook
  const refused = useRefused(webhook.id)
  const recipe = verification && recipeOf(verification.preset)
  const service = recipe ? serviceOf(recipe) : "the calling service"
  const last = refused.data?.data.find(
    ({ code, received_at }) => code === "not_verified" && received_at > secret_set_at
  )
  const isDone = verified_at !== undefined
  return (
    <section className="card stack" aria-label="Setup">
      <div className="row between">
        <h2>Set up {service}</h2>
        <Button variant="quiet" compact onPress={onDismiss}>
          {isDone ? "Close" : "Dismiss"}
        </Button>
      </div>
      <ol className="setup">
        <Item state="done">
          <p>
            The webhook has a trigger URL. Its token ends in <span className="mono">{webhook.token_hint}</span>. If you
            did not copy the URL, regenerate the token under Settings.
          </p>
        </Item>
        <Item state="done">
          <p>
            The secret <span className="mono">{secret_hint}</span> was set <ExactTime at={secret_set_at} />.
          </p>
          {recipe?.secret === "shown after" && !isDone && (
            <div className="row between">
              <p className="small muted grow">When the service shows its secret, enter it here.</p>
              <LinkButton needs="webhooks.edit" compact to={pathTo("editWebhook", webhook)}>
                Set the secret
              </LinkButton>
            </div>
          )}
        </Item>
        {recipe && (
          <Item state={isDone ? "done" : "open"}>
            <p>Enter the trigger URL and the secret at {service}.</p>
            {!isDone && <SetupSteps recipe={recipe} />}
          </Item>
        )}
        <Item state={isDone ? "done" : last ? "refused" : "open"}>
          <div role="status">
            {isDone ? (
              <p>
                The first verified request arrived <RelativeTime at={verified_at} />.
              </p>
            ) : last ? (
              <p>
                A request arrived <RelativeTime at={last.received_at} />, but was rejected. {last.detail}
              </p>
            ) : (
              <p>Waiting for the first verified request.</p>
            )}
          </div>
        </Item>
      </ol>
    </section>
  )
}

export default SetupChecklist
