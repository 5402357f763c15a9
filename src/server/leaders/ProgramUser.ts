import { Effect, Option } from "effect"
import * as SystemUser from "../../leader/SystemUser.ts"

/** The user that a leader's programs run as, if that is not this process's own. */
export const find = (user: Option.Option<string>) =>
  Option.match(user, {
    onNone: () => Effect.succeedNone,
    onSome: (name) =>
      Effect.map(Effect.tap(SystemUser.find(name), SystemUser.check), (found) =>
        Option.filter(Option.some(found), ({ uid }) => uid !== process.geteuid?.())
      )
  })
