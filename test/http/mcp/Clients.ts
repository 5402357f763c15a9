/** The protocol's official clients: of both generations, and of the package before. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as ClientOfSdk } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as TransportOfSdk } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect } from "effect"

const info = { name: "a test", version: "1" }

export interface Result {
  readonly content: ReadonlyArray<{ readonly text: string }>
  readonly isError?: boolean
  readonly _meta?: { readonly [name: string]: unknown }
}

/** A connected client. */
export interface Connected {
  readonly tools: () => Promise<ReadonlyArray<any>>
  readonly call: (
    name: string,
    args?: object,
    onProgress?: (message: string) => void,
    meta?: Record<string, unknown>
  ) => Promise<Result>
  readonly close: () => Promise<void>
}

const options = (onProgress?: (message: string) => void) =>
  onProgress === undefined
    ? {}
    : { onprogress: ({ message }: { readonly message?: string | undefined }) => onProgress(message ?? "") }

const withNew =
  (mode: "legacy" | "auto", answer?: string) =>
  async (url: URL, key: string): Promise<Connected> => {
    const capabilities = answer === undefined ? {} : { elicitation: { form: {} } }
    const client = new Client(info, { capabilities, versionNegotiation: { mode } })
    if (answer !== undefined) {
      client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { reply: answer } }))
    }
    const headers = { authorization: `Bearer ${key}` }
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    return {
      tools: async () => (await client.listTools()).tools,
      call: async (name, args = {}, onProgress, _meta) =>
        (await client.callTool(
          { name, arguments: { ...args }, ...(_meta && { _meta }) },
          options(onProgress)
        )) as unknown as Result,
      close: () => client.close()
    }
  }

const withOld = async (url: URL, key: string): Promise<Connected> => {
  const client = new ClientOfSdk(info)
  const headers = { authorization: `Bearer ${key}` }
  // The package's types are not made for `exactOptionalPropertyTypes`.
  await client.connect(new TransportOfSdk(url, { requestInit: { headers } }) as Parameters<typeof client.connect>[0])
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, args = {}, onProgress, _meta) =>
      (await client.callTool(
        { name, arguments: { ...args }, ...(_meta && { _meta }) },
        undefined,
        options(onProgress)
      )) as unknown as Result,
    close: () => client.close()
  }
}

export const clients = {
  "of 2026": withNew("auto"),
  "of 2025": withNew("legacy"),
  "of the package before": withOld
} as const

/** A client that can put questions to its user, who gives this answer. */
export const asking = (answer: string) => withNew("auto", answer)

export const connected = (connect: (url: URL, key: string) => Promise<Connected>, origin: string, key: string) =>
  Effect.acquireRelease(
    Effect.promise(() => connect(new URL("/mcp", origin), key)),
    (client) => Effect.promise(() => client.close())
  )
