import type { TestServer } from "./TestServer.ts"

/** How many messages about runs of this kind the server has taken from the broker. */
export const reports = async ({ url }: Pick<TestServer, "url">, kind: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^webhook_bus_reports_total\\{[^}]*kind="${kind}"[^}]*\\} (\\d+)`, "m").exec(text)?.[1] ?? 0)
}
