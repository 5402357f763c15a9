/** The Helm chart, read from its folder, with the values of an installation. */
import { readdirSync, readFileSync } from "node:fs"
import { parse } from "yaml"

const folder = new URL("../../../deploy/helm/", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, folder), "utf8")

export type Values = { readonly [name: string]: unknown }

const isRecord = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** As Helm merges an installation's values into the chart's: objects by field, anything else as a whole. */
const merge = (base: Values, more: Values): Values => ({
  ...base,
  ...Object.fromEntries(
    Object.entries(more).map(([name, value]) => {
      const old = base[name]
      return [name, isRecord(old) && isRecord(value) ? merge(old, value) : value]
    })
  )
})

export const chart = parse(read("Chart.yaml")) as Values
export const defaultValues = parse(read("values.yaml")) as Values
export const valuesSchema = JSON.parse(read("values.schema.json")) as Values
export const templates: { readonly [name: string]: string } = Object.fromEntries(
  readdirSync(new URL("templates/", folder)).map((name) => [name, read(`templates/${name}`)])
)
export const files = { "files/alerts.yaml": read("files/alerts.yaml") }

export const withValues = (values: Values): Values => merge(defaultValues, values)
