/** The services that a webhook can be set up for. */

import { type PresetName, presets } from "../domain/verification/Presets.ts"
import { recipes } from "./Compiled.ts"
import type { Recipe } from "./Recipe.ts"

export { recipes }

export type RecipeName = keyof typeof recipes

/** In the order in which they are shown. */
export const recipeNames = Object.keys(recipes) as ReadonlyArray<RecipeName>

export const isRecipeName = (text: string): text is RecipeName => Object.hasOwn(recipes, text)

/** Who calls, in a sentence: a recipe's label may be what it is about, such as “GitHub comments”. */
export const serviceOf = ({ label, verification: { preset } }: Recipe): string =>
  label === recipes.generic.label ? label.toLowerCase() : presets[preset].label

/** The recipe of the service whose requests a webhook verifies, whether or not it was made from it. */
export const recipeOf = (preset: PresetName): Recipe | undefined =>
  recipeNames.map((name): Recipe => recipes[name]).find(({ verification }) => verification.preset === preset)
