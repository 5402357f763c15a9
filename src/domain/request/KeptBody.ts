/** How much of a body is kept, and how much of it a list shows, in bytes. Plain data: the browser loads it without Effect. */
export const keptBody = 64 * 1024
export const shownBody = 2048
