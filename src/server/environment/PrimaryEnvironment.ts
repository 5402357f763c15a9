/** Settings that decide whether this process serves or starts workers. `docs/settings.md` explains every variable. */
import { availableParallelism } from "node:os"
import { Option, Schema } from "effect"
import { type Format, type Values, wholeNumber, withDefault } from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"
import * as Logs from "../Logs.ts"
import * as LoadSettings from "./LoadSettings.ts"

const perCore = "auto"

/** A number, or `auto` for the number of CPU cores. */
const wholeNumberOrAuto = (min: number, max: number): Format<number> => {
  const { accepts, schema } = wholeNumber(min, max)
  const decode = Schema.decodeOption(schema)
  return {
    accepts: `${accepts}, or \`${perCore}\` for one per CPU core`,
    schema: fromText(
      Schema.Number,
      (text) => (text.toLowerCase() === perCore ? Option.some(Math.min(max, availableParallelism())) : decode(text)),
      String
    )
  }
}

export const settings = {
  /** The number of processes that serve. With 1 there is no primary. */
  workers: withDefault("WORKERS", wholeNumberOrAuto(1, 128), 1),
  ...Logs.settings
}

export type PrimaryEnvironment = Values<typeof settings>

/** Fails with all faults at once. */
export const load = LoadSettings.load(settings)
