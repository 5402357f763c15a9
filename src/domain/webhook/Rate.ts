/** How many runs a webhook accepts per period. Plain data: the web UI loads it. */
interface Rate {
  readonly runs: number
  readonly seconds: number
}

const secondsOf = { sec: 1, min: 60, hour: 3_600, day: 86_400 } as const

type RateUnit = keyof typeof secondsOf

export const ratePattern: string = `^[1-9][0-9]{0,5}/(${Object.keys(secondsOf).join("|")})$`

/** The rule for a rate, as an error message. */
export const rateAccepts =
  "must be a whole number from 1 to 999,999, a slash, and sec, min, hour or day, such as `60/min`"

/** Parses a text that `ratePattern` matches. */
export const parseRate = (text: string): Rate => {
  const [runs, unit] = text.split("/") as [string, RateUnit]
  return { runs: Number(runs), seconds: secondsOf[unit] }
}
