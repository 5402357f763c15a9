import { createHash, randomUUID } from "node:crypto"

export type Variables = Readonly<Record<string, unknown>>

/** The prompt: each `{{name}}` or `{{name.field}}` replaced by its value. */
export const render = (template: string, variables: Variables): string =>
  template.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (_, path: string) => {
    const value = path.split(".").reduce<any>((object, name) => object?.[name], variables)
    if (value === undefined) throw new Error(`no value for ${path}`)
    return typeof value === "string" ? value : JSON.stringify(value)
  })

export const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest()

export const makeRunId = (): string => randomUUID()
