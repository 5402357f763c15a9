/** How long a replaced token may stay valid, in seconds. Plain data: the browser loads it without Effect. */
export const maxOverlapSeconds = 30 * 86_400

/** How long deliveries are also signed with a secret that was replaced, unless the person says otherwise. */
export const secretOverlapSeconds = 86_400
