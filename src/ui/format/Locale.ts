/**
 * The locale of all numbers and times: English, as the texts around them are, in the variant that the user prefers. It
 * decides the order of a date's parts and whether a day has 12 or 24 hours.
 */
export const locale = navigator.languages.find((language) => /^en\b/i.test(language)) ?? "en-GB"
