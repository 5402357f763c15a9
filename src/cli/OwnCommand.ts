import { basename, relative } from "node:path"

const commandOf = (script: string): string =>
  basename(script) === "webhook-trigger" ? "webhook-trigger" : `node ${relative("", script)}`

/** The command that starts this program, to be pasted: its name if it is installed. */
export const ownCommand: string = commandOf(process.argv[1]!)
