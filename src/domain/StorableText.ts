/** Whether PostgreSQL and UTF-8 can store the text: no NUL, no lone surrogate. */
export const isStorable = (text: string): boolean => !unstorable.test(text)

// With the `u` flag, a surrogate only matches alone.
const unstorable = /[\0\uD800-\uDFFF]/u
const allUnstorable = new RegExp(unstorable, "gu")

/** The error message for a text that cannot be stored. */
export const unstorableDetail = "must not contain a NUL or a lone surrogate"

/** The text with U+FFFD for each character that cannot be stored. */
export const storable = (text: string): string => (isStorable(text) ? text : text.replace(allUnstorable, "\uFFFD"))
