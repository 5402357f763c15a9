/**
 * What is read before it is known whether this process serves or is the primary, which starts workers that do.
 * `docs/settings.md` explains every variable.
 */
import { availableParallelism } from "node:os"
import { Option, Schema } from "effect"
import { type Format, type Values, wholeNumber, withDefault } from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"
import * as Logs from "../Logs.ts"
import * as LoadSettings from "./LoadSettings.ts"

const perCore = "auto"

/** A number, or the word for as many as there are CPU cores. */
const wholeNumberOrAuto = (min: number, max: number): Format<number> => {
  const { accepts, schema } = wholeNumber(min, max)
  const decode = Schema.decodeOption(schema)
  return {
    accepts: `${accepts}, or \`${perCore}\` for one on each CPU core`,
    schema: fromText(
      Schema.Number,
      (text) => (text.toLowerCase() === perCore ? Option.some(Math.min(max, availableParallelism())) : decode(text)),
      String
    )
  }
}

export const settings = {
  /** Processes that serve; with 1 there is no primary. */
  workers: withDefault("WORKERS", wholeNumberOrAuto(1, 128), 1),
  ...Logs.settings
}

export type PrimaryEnvironment = Values<typeof settings>

/** Fails with all faults at once. */
export const load = LoadSettings.load(settings)
