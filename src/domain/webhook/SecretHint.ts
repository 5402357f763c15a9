/** The part of a secret that is shown, to distinguish secrets. */
const mark = "…"

/** With fewer characters, the last ones would reveal too much. */
const long = 16

export const secretHintOf = (secret: string): string => (secret.length >= long ? `${mark}${secret.slice(-4)}` : mark)

/** Whether the hint is of a secret with fewer than 16 characters. */
export const isShortSecret = (hint: string): boolean => hint === mark
