/** A recipe in words, with the few things that it cannot know. */
import { kindOf } from "../../../domain/delivery/DestinationKind.ts"
import type { Recipe } from "../../../recipes/Recipe.ts"
import { serviceOf } from "../../../recipes/Recipes.ts"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { TextField } from "../../components/form/TextField.tsx"
import { Toggle } from "../../components/form/Toggle.tsx"
import { Icon } from "../../components/Icon.tsx"
import { toastFailure } from "../../components/Toasts.tsx"

/** The destination for the new webhook's answers. */
interface Offer {
  readonly isTaken: boolean
  readonly token: string
}

export const notTaken: Offer = { isTaken: false, token: "" }

/** The fault of the offer. */
export const offerFault = (recipe: Recipe | undefined, { isTaken, token }: Offer): string | undefined =>
  isTaken && token.trim() === "" && recipe?.destination && kindOf(recipe.destination.kind).token
    ? "Enter the token, or leave the destination out."
    : undefined

/** The webhook is there already, so a failure must not create it again. */
export const addOffered = async (webhook: Webhook, { destination }: Recipe, { isTaken, token }: Offer) => {
  if (destination === undefined || !isTaken) return
  const payload = { ...destination, ...(token.trim() !== "" && { token: token.trim() }) }
  try {
    await runAction(() => api.destinations.create({ path: { id: webhook.id }, payload: payload as never }))
    await queries.invalidateQueries({ queryKey: ["destinations", webhook.id] })
  } catch (error) {
    toastFailure(`The destination was not added. Add it on the webhook's page. ${explain(error).title}`)
  }
}

const factsOf = (recipe: Recipe): ReadonlyArray<string> => [
  `Only requests verified as coming from ${serviceOf(recipe)}`,
  ...recipe.starts,
  ...(recipe.settings.fence ? ["Text from outside is marked as data for the agent"] : []),
  ...(recipe.settings.when_team_stopped === "queue" ? ["Requests wait while the team is stopped"] : [])
]

/** The settings of the recipe. They are true as long as nothing was customized. */
export const RecipeFacts = ({ recipe }: { readonly recipe: Recipe }) => (
  <ul className="recipe-facts" aria-label="What the recipe sets">
    {factsOf(recipe).map((fact) => (
      <li key={fact}>
        <Icon name="check" />
        {fact}
      </li>
    ))}
  </ul>
)

export const OfferedDestination = ({
  recipe: { destination },
  offer,
  onOffer,
  fault
}: {
  readonly recipe: Recipe
  readonly offer: Offer
  readonly onOffer: (offer: Offer) => void
  readonly fault: string | undefined
}) => {
  if (destination === undefined) return null
  const { label, token } = kindOf(destination.kind)
  return (
    <div className="stack tight">
      <Toggle on={offer.isTaken} onChange={(isTaken) => onOffer({ ...offer, isTaken })}>
        Send each answer back: {label}
      </Toggle>
      {offer.isTaken && token && (
        <TextField
          label={token.label}
          type="password"
          autoComplete="new-password"
          value={offer.token}
          onChange={(token) => onOffer({ ...offer, token })}
          help={token.help}
          fault={fault}
        />
      )}
    </div>
  )
}
