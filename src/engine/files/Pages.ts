/** Web pages and refusals in place of files: many services answer so, with 200, to who is not signed in. */

/** Bytes at the beginning that are looked at. */
const looked = 1_024

const isPage = /^\s*(<\?xml[^>]*>\s*)?(<!--[\s\S]*?-->\s*)*<(!doctype\s+html|html|head|body)\b/i
const isJson = /^\s*\{\s*"/

const mayBePage = (name: string, type: string): boolean =>
  /\.(x?html?|xht|md|txt)$/i.test(name) || /^(text\/|application\/xhtml)/i.test(type)

/** Content that is never text. */
const isBinary = (name: string, type: string): boolean =>
  /^(image\/(?!svg)|audio\/|video\/|application\/(pdf|zip|gzip)\b)/i.test(type) ||
  /\.(png|jpe?g|gif|webp|heic|bmp|tiff?|pdf|zip|gz|mp[34]|mov|wav|webm|docx|xlsx|pptx)$/i.test(name)

/** The service sends the content for one to be stored, and not shown. */
const isDownload = (disposition: string): boolean => /^attachment\b/i.test(disposition)

/** How a file was announced, and what its host says of what it sends. */
interface Announced {
  readonly name: string
  readonly type: string
  /** The path of its URL. */
  readonly path: string
}

/** Whether the host sent a page, or a refusal as JSON, in place of the file. */
export const isNotTheFile = (
  { name, path, type }: Announced,
  sent: { readonly type: string; readonly disposition: string },
  bytes: Uint8Array
): boolean => {
  const beginning = Buffer.from(bytes.subarray(0, looked))
    .toString("utf8")
    .replace(/^\ufeff/, "")
  const saysPage = /^(text\/html|application\/xhtml\+xml)\b/i.test(sent.type)
  const isAnnounced = mayBePage(name, type) || mayBePage(path, "")
  if (isBinary(name, type) && (isPage.test(beginning) || isJson.test(beginning))) return true
  return !isAnnounced && !isDownload(sent.disposition) && (saysPage || isPage.test(beginning))
}
