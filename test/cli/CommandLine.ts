import { ConfigProvider, Console, Effect } from "effect"
import * as Cli from "../../src/cli/Cli.ts"
import type { LocalCommands } from "../../src/cli/LocalCommands.ts"
import { examine } from "../../src/server/doctor/Doctor.ts"
import { lead } from "../../src/server/Lead.ts"
import { serve } from "../../src/server/Serve.ts"

/** The others need a process of their own: `Program.ts`. */
const local: LocalCommands = {
  serve: () => Effect.void,
  leader: () => Effect.void,
  doctor: examine,
  supportBundle: () => Effect.void
}

type Variables = Readonly<Record<string, string>>

const runLocal = (commands: LocalCommands, variables: Variables, words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const [out, err]: [Array<string>, Array<string>] = [[], []]
    const to = (lines: Array<string>) => (text: string) => void lines.push(`${text}\n`)
    const console = Object.assign(Object.create(yield* Console.Console), {
      ...{ log: to(out), info: to(out), error: to(err), warn: to(err) }
    })
    const code = yield* Cli.run(words, "1.2.3", commands).pipe(
      Effect.provideService(Console.Console, console),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(variables))
    )
    return { code, stdout: out.join(""), stderr: err.join("") }
  })

/** Runs a command line in this process, with these environment variables: its output and its exit code. */
export const runWith = (variables: Variables, ...words: ReadonlyArray<string>) => runLocal(local, variables, words)

/** The `leader` command with settings that it refuses. One that starts would remove the secrets of this process. */
export const refusedLeader = (variables: Variables, ...words: ReadonlyArray<string>) =>
  runLocal({ ...local, leader: (options) => lead(options, "1.2.3") }, variables, ["leader", ...words])

/** The `serve` command, if it does not start. */
export const refusedServer = (variables: Variables, ...words: ReadonlyArray<string>) =>
  runLocal({ ...local, serve: (options) => serve(options, "1.2.3") }, variables, ["serve", ...words])
