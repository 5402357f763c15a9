/** The part of a secret that is shown, to tell secrets apart. */
const mark = "…"

/** The last characters of a shorter secret would reveal too much. */
const long = 16

export const secretHintOf = (secret: string): string => (secret.length >= long ? `${mark}${secret.slice(-4)}` : mark)

/** Whether the hint belongs to a secret with fewer than 16 characters. */
export const isShortSecret = (hint: string): boolean => hint === mark
