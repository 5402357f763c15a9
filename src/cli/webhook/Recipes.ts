import { Struct } from "effect"
import { Command } from "effect/cli"
import { recipeNames, recipes } from "../../recipes/Recipes.ts"
import { json } from "../Connection.ts"
import { about } from "../Help.ts"
import { print, printJson, table } from "../Output.ts"

export const listRecipes = Command.make("recipes", { json }, ({ json }) => {
  const data = recipeNames.map((name) => ({ name, ...Struct.pick(recipes[name], "label", "summary", "documentation") }))
  return json
    ? printJson({ data })
    : print(
        table(
          ["NAME", "SERVICE", "SUMMARY"],
          data.map(({ label, name, summary }) => [name, label, summary])
        )
      )
}).pipe(
  Command.withDescription(
    about("List the recipes: webhooks that are prepared for a service", {
      details: "Each is a start for webhook create --from. No server is needed.",
      examples: ["webhook-trigger webhook create --from github --team review"]
    })
  )
)
