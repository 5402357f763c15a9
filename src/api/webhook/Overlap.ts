/** How long a replaced token may stay valid, in seconds. Plain data: the browser loads it without Effect. */
export const maxOverlapSeconds = 30 * 86_400
