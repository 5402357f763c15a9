/**
 * The location of PostgreSQL's and RabbitMQ's programs: on this machine, or, with `TEST_ROOT`, in another Debian in
 * that folder. Those run in a `chroot` with the same temporary folder, so that both sides use the same paths.
 */
import { existsSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { exec } from "./Process.ts"

const root = process.env.TEST_ROOT ?? ""

/** A path of that Debian, from this process's point of view. */
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

// In its own namespace, so that the mounts vanish with the process, and the process keeps its ID.
const enter = [
  `mount --bind "$TMP" "$ROOT$TMP"`,
  `mount --rbind /dev "$ROOT/dev"`,
  `mount -t proc proc "$ROOT/proc"`,
  `exec chroot --userspec="$USER" "$ROOT" "$@"`
].join(" && ")

/** How to run a program, optionally as `user`. */
export const command = (program: string, args: ReadonlyArray<string>, user?: User): Command => {
  if (root === "") return { program, args, options: user ?? {} }
  const who = `${user?.uid ?? 0}:${user?.gid ?? 0}`
  const script = `ROOT='${root}' TMP='${tmpdir()}' USER='${who}'; ${enter}`
  return { program: "unshare", args: ["--mount", "sh", "-c", script, program, program, ...args], options: {} }
}

/** The user `postgres` if needed: PostgreSQL refuses to run as root. */
export const postgresUser = async (): Promise<User | undefined> => {
  if (process.getuid?.() !== 0) return undefined
  if (root !== "" && existsSync(pathOf("/etc/passwd"))) {
    const line = /^postgres:[^:]*:(\d+):(\d+)/m.exec(readFileSync(pathOf("/etc/passwd"), "utf8"))
    return { uid: Number(line![1]), gid: Number(line![2]) }
  }
  const id = async (flag: string) => Number((await exec("id", [flag, "postgres"])).stdout)
  return { uid: await id("-u"), gid: await id("-g") }
}
