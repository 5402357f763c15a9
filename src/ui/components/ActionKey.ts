/** An `Idempotency-Key` for one action of the user. (`randomUUID` exists in secure contexts only.) */
export const newActionKey = (): string =>
  [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-")
