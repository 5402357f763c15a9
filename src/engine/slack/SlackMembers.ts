/** Members of Slack's workspaces, as its requests name them. */
import { membersOf } from "../../domain/Json.ts"
import type { Actor } from "../../domain/webhook/Approvers.ts"
import { listOf } from "./SlackText.ts"

const prefix = "slack:"

/** How `triggered_by` names a member of a Slack workspace. */
export const byMember = (id: string): string => `${prefix}${id}`

/** The member's ID; `undefined`: nobody in Slack started the run. */
export const memberOf = (triggered_by: string | undefined): string | undefined =>
  triggered_by?.startsWith(prefix) ? triggered_by.slice(prefix.length) : undefined

/** A member of a workspace. */
export interface SlackMember {
  readonly id: string
  /** For people; default: the ID. */
  readonly name?: string
  /** The ID of the member's workspace; absent: Slack does not say. */
  readonly workspace?: string
  /** Whether it is not that of the app: a guest in a channel that two workspaces share. */
  readonly isForeign: boolean
}

/** Somebody in Slack, for the rule of approvals. */
export const slackActor = ({ id, isForeign, name = id, workspace }: SlackMember): Actor => ({
  ...{ id: byMember(id), name: `${name} (Slack)` },
  entries: [...(isForeign ? [] : ["slack"]), ...(workspace === undefined ? [] : [`slack:${workspace}/${id}`])]
})

type Members = Readonly<Record<string, unknown>>

const idIn = (value: unknown): string | undefined => {
  const id = typeof value === "string" ? value : membersOf(value).id
  return typeof id === "string" && id !== "" ? id : undefined
}

/** Who caused a request of Slack: an event, a command or an interaction. */
export const askerIn = (payload: unknown): string | undefined => {
  const { event, user, user_id } = membersOf(payload)
  const { message, user: ofEvent } = membersOf(event)
  const id = idIn(ofEvent) ?? idIn(membersOf(message).user) ?? idIn(user_id) ?? idIn(user)
  return id && byMember(id)
}

/** The member who clicked, as the interaction says it. The message is the app's own, and so of its workspace. */
export const clickedBy = ({ message, team, user }: Members): SlackMember => {
  const { id, is_stranger, name, team_id, username } = membersOf(user)
  const workspace = idIn(team_id) ?? idIn(team)
  const own = idIn(membersOf(message).team) ?? idIn(team)
  return {
    ...{ id: idIn(id) ?? "", name: idIn(name) ?? idIn(username) ?? idIn(id) ?? "" },
    ...(workspace !== undefined && { workspace }),
    isForeign: is_stranger === true || (own !== undefined && workspace !== own)
  }
}

/** Who reacted. In a channel that two workspaces share, Slack does not say where they are from. */
export const reactedBy = (
  id: string,
  { authorizations, event, is_ext_shared_channel, team_id }: Members
): SlackMember => {
  const [first] = listOf(authorizations)
  const own = idIn(first?.team_id) ?? idIn(team_id)
  const workspace = idIn(membersOf(event).user_team) ?? (is_ext_shared_channel === true ? undefined : idIn(team_id))
  return {
    id,
    ...(workspace !== undefined && { workspace }),
    isForeign: (is_ext_shared_channel === true && workspace === undefined) || workspace !== own
  }
}
