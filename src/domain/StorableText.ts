/** Whether PostgreSQL and UTF-8 can hold the text: it has no NUL and no lone surrogate. */
export const isStorable = (text: string): boolean => !unstorable.test(text)

// With the `u` flag a surrogate matches only when it stands alone.
const unstorable = /[\0\uD800-\uDFFF]/u
const allUnstorable = new RegExp(unstorable, "gu")

/** What is wrong with a text that is not storable. */
export const unstorableDetail = "must not contain a NUL or a lone surrogate"

/** The text with U+FFFD in place of each character that cannot be stored, so that it is stored in any case. */
export const storable = (text: string): string => (isStorable(text) ? text : text.replace(allUnstorable, "\uFFFD"))
