/** E-mail addresses as they stand in the envelope of a message: without names, comments and quotes. Plain data. */

const maxRecipients = 10

const localPart = /^[\w!#$&'*+/=?^`|~-]+(\.[\w!#$&'*+/=?^`|~-]+)*$/
/** Also of a host without a dot. */
export const domain = /^([a-z\d]([a-z\d-]{0,61}[a-z\d])?\.)*[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/i

/** Lengths as RFC 5321, 4.5.3.1 has them. */
export const isEmailAddress = (text: string): boolean => {
  const at = text.lastIndexOf("@")
  const [local, host] = [text.slice(0, Math.max(0, at)), text.slice(at + 1)]
  return local.length <= 64 && host.length <= 255 && localPart.test(local) && domain.test(host)
}

/** Addresses that are separated by commas. */
export const recipientsOf = (text: string): ReadonlyArray<string> => text.split(",").map((one) => one.trim())

/** The fault in a list of recipients, for the person who saves it. */
export const faultOfRecipients = (text: string): string | undefined => {
  const recipients = recipientsOf(text)
  const wrong = recipients.find((one) => !isEmailAddress(one))
  if (wrong !== undefined) {
    return `must be addresses such as \`ops@example.com\`, separated by commas; ${JSON.stringify(wrong.slice(0, 100))} is not an address`
  }
  return recipients.length > maxRecipients ? `must have at most ${maxRecipients} addresses` : undefined
}
