import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { exec } from "../../support/Process.ts"
import { body, type Load, type LoadResult } from "./Load.ts"
import { sendRaw } from "./RawLoad.ts"

const script = fileURLToPath(new URL("load.lua", import.meta.url))

/**
 * Written in C, so it uses little of the machine that it shares with the servers. It aborts the requests in flight at
 * the end.
 */
const wrk: Load = async ({ connections, seconds, urls }) => {
  const paths = urls.map((url) => new URL(url)).map(({ pathname, search }) => pathname + search)
  const settings = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "60s", "-s", script]
  const { stdout } = await exec("wrk", [...settings, new URL(urls[0]!).origin, "--", body, ...paths])
  return JSON.parse(stdout.slice(stdout.lastIndexOf("\n{"))) as LoadResult
}

export const wrkVersion = (): string | undefined =>
  /wrk\s+(?:debian\/)?([\w.]+)/.exec(spawnSync("wrk", ["-v"], { encoding: "utf8" }).stdout ?? "")?.[1]

export const makeLoad = (wanted: "wrk" | "raw" | undefined): { readonly name: string; readonly load: Load } => {
  const version = wanted === "raw" ? undefined : wrkVersion()
  if (wanted === "wrk" && version === undefined) throw new Error("wrk is not installed")
  return version === undefined
    ? { name: "sockets of the benchmark's own process", load: sendRaw }
    : { name: `wrk ${version}`, load: wrk }
}
