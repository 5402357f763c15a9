/** The user's preferred variant of English. It decides the format of numbers, dates and times. */
export const locale = navigator.languages.find((language) => /^en\b/i.test(language)) ?? "en-GB"
