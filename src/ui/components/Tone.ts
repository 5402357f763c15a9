/** The meaning of a colour. Each has a pair of colours in `design/tokens.css`. */
export type Tone = "success" | "danger" | "warning" | "info" | "neutral"
