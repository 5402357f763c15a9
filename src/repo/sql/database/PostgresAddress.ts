/** What `DATABASE_URL` says about connections, and what to change in it if there is none. */
import { readFileSync } from "node:fs"
import { Redacted } from "effect"
import pg from "pg"
import * as Json from "../../../domain/Json.ts"

const modes = ["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"]
const files = ["sslrootcert", "sslcert", "sslkey"]

/**
 * The URL for `pg`. Encrypted connections are checked unless the URL says `no-verify`: with `require`, `pg` does that too
 * until version 9, and prints a warning. As for libpq, `sslrootcert=system` means the usual certificate authorities.
 */
const addressOf = (text: string): string => {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  const parameters = url.searchParams
  if (parameters.get("sslrootcert") === "system") parameters.delete("sslrootcert")
  const isLibpq = parameters.get("uselibpqcompat") === "true"
  if (!isLibpq && ["prefer", "require", "verify-ca"].includes(parameters.get("sslmode") ?? "")) {
    parameters.set("sslmode", "verify-full")
  }
  return url.href
}

/** Of the type `json`: numbers of callers stay as they were written. */
const getTypeParser = (type: number, format?: "text" | "binary") =>
  type === pg.types.builtins.JSON ? Json.parse : pg.types.getTypeParser(type, format as "text")

/** The options of each of our connections. */
export const connection = (url: Redacted.Redacted): pg.ClientConfig => ({
  connectionString: addressOf(Redacted.value(url)),
  application_name: "webhook-trigger",
  types: { getTypeParser },
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000
})

/** The parameter of the URL that no connection can be opened with. */
export const addressFault = (url: Redacted.Redacted): string | undefined => {
  const text = addressOf(Redacted.value(url))
  if (!URL.canParse(text)) return "takes a URL"
  const parameters = new URL(text).searchParams
  const mode = parameters.get("sslmode")
  if (mode !== null && !modes.includes(mode)) return `takes \`sslmode=\` with one of ${modes.join(", ")}, not ${mode}`
  for (const name of files) {
    const path = parameters.get(name)
    if (path === null) continue
    try {
      readFileSync(path)
    } catch (error) {
      return `takes a file that the server can read in \`${name}=\`; ${path} is not (${codeOf(error)})`
    }
  }
  try {
    new pg.Client(connection(url))
    return undefined
  } catch (error) {
    return `takes other parameters: ${error instanceof Error ? error.message : error}`
  }
}

export const codeOf = (error: unknown): string => String((error as { readonly code?: unknown } | undefined)?.code)

/** OpenSSL's names for a chain that ends with an unknown authority. */
const unknownAuthority =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/
/** As PostgreSQL, PgBouncer, Neon and Supabase say it. */
const demandsTls = /no encryption|SSL off|(SSL|TLS)( connection)? (is )?required|connection is insecure/i

/** What to change in the URL, if the other side does not accept what it says about the connection. */
export const advice = (error: unknown): string | undefined => {
  const message = String((error as { readonly message?: unknown } | undefined)?.message)
  if (unknownAuthority.test(codeOf(error))) {
    return "Add the CA certificate of the database's provider to DATABASE_URL, as sslrootcert=/path/ca.pem, or encrypt without a check of the server, with sslmode=no-verify."
  }
  if (codeOf(error) === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return "Use a host name of the certificate in DATABASE_URL, or encrypt without a check of the server, with sslmode=no-verify."
  }
  if (message.includes("does not support SSL")) return "Remove sslmode from DATABASE_URL, or set sslmode=disable."
  if (message.includes("unsupported startup parameter")) {
    return "Remove that parameter from DATABASE_URL, or add it to ignore_startup_parameters of PgBouncer."
  }
  return demandsTls.test(message) ? "Add sslmode=require to DATABASE_URL." : undefined
}

/** Waiting does not help: a wrong password, name or parameter. */
export const isPermanent = (error: unknown): boolean => /^(28|3D)/.test(codeOf(error)) || advice(error) !== undefined
