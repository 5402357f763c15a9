/**
 * Where PostgreSQL's and RabbitMQ's programs are: on this machine, or, with `TEST_ROOT`, in another Debian that lies in
 * that folder. Those run in a `chroot` with the same temporary folder, so that paths mean the same to both sides.
 */
import { existsSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { exec } from "./Process.ts"

const root = process.env.TEST_ROOT ?? ""

/** A path of that Debian, as this process sees it. */
export const pathOf = (path: string): string => root + path

export interface Command {
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly options: { readonly uid?: number; readonly gid?: number }
}

export interface User {
  readonly uid: number
  readonly gid: number
}

// In a namespace of its own, so that the mounts are gone with the process, and the process keeps its id.
const enter = [
  `mount --bind "$TMP" "$ROOT$TMP"`,
  `mount --rbind /dev "$ROOT/dev"`,
  `mount -t proc proc "$ROOT/proc"`,
  `exec chroot --userspec="$USER" "$ROOT" "$@"`
].join(" && ")

/** How to run a program, as `user` when one is given. */
export const command = (program: string, args: ReadonlyArray<string>, user?: User): Command => {
  if (root === "") return { program, args, options: user ?? {} }
  const who = `${user?.uid ?? 0}:${user?.gid ?? 0}`
  const script = `ROOT='${root}' TMP='${tmpdir()}' USER='${who}'; ${enter}`
  return { program: "unshare", args: ["--mount", "sh", "-c", script, program, program, ...args], options: {} }
}

/** The user `postgres`, when there must be one: PostgreSQL refuses to run as root. */
export const postgresUser = async (): Promise<User | undefined> => {
  if (process.getuid?.() !== 0) return undefined
  if (root !== "" && existsSync(pathOf("/etc/passwd"))) {
    const line = /^postgres:[^:]*:(\d+):(\d+)/m.exec(readFileSync(pathOf("/etc/passwd"), "utf8"))
    return { uid: Number(line![1]), gid: Number(line![2]) }
  }
  const id = async (flag: string) => Number((await exec("id", [flag, "postgres"])).stdout)
  return { uid: await id("-u"), gid: await id("-g") }
}
