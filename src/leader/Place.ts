/** Where an agent's programs run, as whom, and what they find in their environment. */
import { DateTime } from "effect"
import type { Prompt } from "../bus/Bus.ts"
import type { SystemUser } from "./SystemUser.ts"

export interface Place {
  /** Default: the folder of this process. */
  readonly folder?: string
  /** More environment variables to hide from the program, in addition to `keys`. */
  readonly withheld?: ReadonlyArray<string>
  /** The folder in which running programs are remembered, so that they can be ended after a crash of this process. */
  readonly remembered?: string
  /** Runs the program as this user, without supplementary groups. Needs root. */
  readonly user?: SystemUser
}

/** Environment variables with credentials for the broker, the database, the server and what it uses. */
export const keys = [
  "AMQP_URL",
  "LEADER_KEY",
  "DATABASE_URL",
  "ADMIN_API_KEY",
  "METRICS_TOKEN",
  "SECRETS_KEY",
  "SMTP_URL",
  "WEBHOOK_FILES_S3",
  "WEBHOOK_FILES_S3_KEY_ID",
  "WEBHOOK_FILES_S3_SECRET",
  "WEBHOOK_FILES_S3_SESSION_TOKEN",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN",
  "OIDC_CLIENT_SECRET",
  "WEBHOOK_TOKEN"
]

const isSecret = /KEY|TOKEN|SECRET|PASSWORD/i
/** A shorter value, such as a flag, is found in any text. */
const shortestSecret = 8

const isHidden = (name: string, { withheld = [] }: Place): boolean =>
  keys.includes(name) || withheld.includes(name) || isSecret.test(name)

const passwordIn = (url: string): string => (URL.canParse(url) ? new URL(url).password : "")

/** The values of environment variables that are secrets, by their names, and passwords in all that are URLs, and in `url`. */
export const secretsIn = (place: Place, url = ""): ReadonlyArray<string> =>
  Object.entries(process.env)
    .flatMap(([name, value = ""]) => [isHidden(name, place) ? value : "", passwordIn(value)])
    .concat(passwordIn(url))
    .filter(({ length }) => length >= shortestSecret)

type Variables = Readonly<Record<string, string | undefined>>

/** The environment of a program that prepares the place, such as git. */
export const withoutPrompt = ({ user, withheld = [] }: Place): Variables => ({
  ...process.env,
  ...(user && { HOME: user.home, USER: user.name, LOGNAME: user.name }),
  ...Object.fromEntries([...keys, ...withheld].map((name) => [name, undefined]))
})

/** The environment of a program that works on the prompt. */
export const environment = (prompt: Prompt, place: Place): Variables => ({
  ...withoutPrompt(place),
  TRACEPARENT: prompt.traceparent,
  WEBHOOK_RUN_ID: prompt.run_id,
  WEBHOOK_TEAM: prompt.team,
  WEBHOOK_SOURCE: prompt.source,
  WEBHOOK_ID: prompt.webhook?.id,
  WEBHOOK_NAME: prompt.webhook?.name,
  WEBHOOK_THREAD_ID: prompt.thread?.id,
  WEBHOOK_SESSION_ID: prompt.thread?.session_id,
  WEBHOOK_MODEL: prompt.agent?.model,
  WEBHOOK_PERMISSIONS: prompt.agent?.permissions,
  WEBHOOK_MAY_ASK: prompt.agent?.may_ask?.toString(),
  WEBHOOK_MAX_TURNS: prompt.agent?.max_turns?.toString(),
  WEBHOOK_MAX_COST: prompt.agent?.max_cost?.toString(),
  WEBHOOK_WORKSPACE_REF: prompt.agent?.workspace_ref,
  WEBHOOK_DEADLINE: prompt.deadline && DateTime.formatIso(prompt.deadline)
})
