/**
 * The rule for a team's name. Plain data: the web UI loads it without `Schema`, which is 120 KB of compressed JavaScript.
 */

export const teamNamePattern = /^[a-z0-9][a-z0-9-]{0,62}$/

/** The rule for a team's name, as an error message. */
export const teamNameAccepts = "must be 1 to 63 lower-case letters, digits or hyphens, starting with a letter or digit"
