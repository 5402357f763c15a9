import { Argument } from "effect/cli"
import { TeamName } from "../domain/Team.ts"
import { validated } from "./Validated.ts"

export const teamArgument = Argument.String({ name: "team" }).pipe(
  Argument.withDescription("The team's name: lower-case letters, digits and hyphens"),
  Argument.mapTryCatch(...validated("<team>", TeamName))
)

export const teamNotFound = (team: string) => `No team is called ${JSON.stringify(team)}; see webhook-trigger team list`
