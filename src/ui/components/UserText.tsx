/** Characters that change the direction of the text after them, and so can disguise it. */
const directionMarks = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Text from users, callers or agents with its direction marks made visible, as in `[U+202E]`. */
export const showDirectionMarks = (text: string): string =>
  text.replace(directionMarks, (mark) => `[U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`)

/** A name chosen by a user, isolated from the direction of the text around it. */
export const UserText = ({ children }: { readonly children: string }) => <bdi>{showDirectionMarks(children)}</bdi>
