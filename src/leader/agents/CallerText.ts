import type { Prompt } from "../../bus/Bus.ts"

/**
 * The prompt's text for agents that take a text which begins with a slash for a command, such as `/clear`. Only people who
 * manage the webhook, or chat with the team, may give one.
 */
export const withoutCommand = ({ prompt, source, template }: Prompt): string =>
  prompt.startsWith("/") && source === "webhook" && !template?.startsWith("/") ? ` ${prompt}` : prompt
