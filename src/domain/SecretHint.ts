/** What is shown of a secret, to distinguish secrets. */
const mark = "…"

/** Of fewer characters, the last ones would say too much. */
const long = 16

export const secretHintOf = (secret: string): string => (secret.length >= long ? `${mark}${secret.slice(-4)}` : mark)

/** Whether the hint is of a secret with fewer than 16 characters. */
export const isShortSecret = (hint: string): boolean => hint === mark
