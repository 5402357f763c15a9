/** Characters that turn the direction of what follows them, and so can make a text read as another. */
const turning = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Somebody else's text with its direction marks made visible: `[U+202E]`. */
export const plain = (text: string): string =>
  text.replace(turning, (mark) => `[U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`)

/** A name that somebody gave: it cannot change how the text around it reads. */
export const Named = ({ children }: { readonly children: string }) => <bdi>{plain(children)}</bdi>
