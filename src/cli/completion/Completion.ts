import { Argument, Command } from "effect/cli"
import type { Group, Leaf } from "../Commands.ts"
import { about } from "../Help.ts"
import { print } from "../Output.ts"
import { type Shell, scripts, shells } from "./Scripts.ts"
import { placesOf } from "./Tree.ts"

const shell = Argument.Choice(
  shells.map((shell): [string, Shell] => [shell, shell]),
  { name: "shell" }
).pipe(Argument.withDescription(`The shell: ${shells.join(", ")}`))

/** `tree` has all commands, this one too. `common`: the options that may precede a command's name. */
export const completion = (tree: () => Group, common: Leaf) =>
  Command.make("completion", { shell }, ({ shell }) => print(scripts[shell](placesOf(tree(), common)).trimEnd())).pipe(
    Command.withDescription(
      about("Print the script that completes commands and options in a shell", {
        examples: [
          "source <(webhook-trigger completion bash)",
          "webhook-trigger completion zsh > ~/.zfunc/_webhook-trigger",
          "webhook-trigger completion fish > ~/.config/fish/completions/webhook-trigger.fish"
        ]
      })
    )
  )
