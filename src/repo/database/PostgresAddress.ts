/** The connection settings in `DATABASE_URL`, and what to change in it if there is no connection. */
import { readFileSync } from "node:fs"
import * as Net from "node:net"
import * as Tls from "node:tls"
import { Redacted } from "effect"
import { codeOf } from "./Database.ts"
import { planSettings, type SessionOptions } from "./Driver.ts"

const modes = ["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"]
const negotiations = ["postgres", "direct"]
const files = { sslrootcert: "ca", sslcert: "cert", sslkey: "key" } as const

const namesOf = (parameters: URLSearchParams, name: string, values: ReadonlyArray<string>): string | undefined => {
  const value = parameters.get(name)
  return value === null || values.includes(value)
    ? undefined
    : `takes \`${name}=\` with one of ${values.join(", ")}, not ${value}`
}

/** As for libpq, `sslrootcert=system` means the usual certificate authorities. */
const fileOf = (parameters: URLSearchParams, name: keyof typeof files): string | undefined => {
  const path = parameters.get(name) ?? undefined
  return name === "sslrootcert" && path === "system" ? undefined : path
}

/** Encrypted connections are checked unless the URL says `no-verify`. With `uselibpqcompat`, the modes mean what they do in libpq. */
const encryptionOf = (parameters: URLSearchParams): boolean | Tls.ConnectionOptions => {
  const mode = parameters.get("sslmode")
  const given = Object.entries(files).flatMap(([name, option]) => {
    const path = fileOf(parameters, name as keyof typeof files)
    return path === undefined ? [] : [[option, readFileSync(path)]]
  })
  if (mode === "disable") return false
  if (mode === null && given.length === 0) return ["true", "1"].includes(parameters.get("ssl") ?? "")
  const options: Tls.ConnectionOptions = Object.fromEntries(given)
  if (mode === "no-verify") return { ...options, rejectUnauthorized: false }
  if (parameters.get("uselibpqcompat") !== "true") return options
  if (mode === "prefer" || (mode === "require" && options.ca === undefined)) {
    return { ...options, rejectUnauthorized: false }
  }
  return mode === "require" || mode === "verify-ca" ? { ...options, checkServerIdentity: () => undefined } : options
}

/** Milliseconds. A statement that waits for a lock gives up first, then the server ends it, then we cut the session. */
const lockTimeout = 3_000
const statementTimeout = 5_000
const silence = 7_000

/** The options of each of our sessions. */
export const sessionOf = (url: Redacted.Redacted): SessionOptions & { readonly silence: number } => {
  const address = new URL(Redacted.value(url))
  const parameters = address.searchParams
  const encryption = encryptionOf(parameters)
  const isDirect = encryption !== false && parameters.get("sslnegotiation") === "direct"
  // The other parameters are for the driver.
  for (const name of ["sslmode", "connect_timeout"]) parameters.delete(name)

  const host =
    parameters.get("host") ?? (decodeURIComponent(address.hostname).replace(/^\[(.*)\]$/, "$1") || "localhost")
  const port = Number(parameters.get("port") ?? (address.port || 5432))
  const place = host.startsWith("/")
    ? { path: `${host}/.s.PGSQL.${port}` }
    : { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 }
  const servername = Net.isIP(host) === 0 ? { servername: host } : {}
  const tls = {
    ...place,
    ...servername,
    ...(typeof encryption === "object" && encryption),
    ALPNProtocols: ["postgresql"]
  }
  return {
    config: {
      url: Redacted.make(address.href),
      ssl: isDirect ? false : encryption,
      applicationName: parameters.get("application_name") ?? "webhook-trigger"
    },
    connect: () => (isDirect ? Tls.connect(tls) : Net.connect(place)),
    settings: {
      ...planSettings,
      statement_timeout: `${statementTimeout}`,
      lock_timeout: `${lockTimeout}`,
      idle_in_transaction_session_timeout: `${statementTimeout}`
    },
    silence
  }
}

/** The parameter of the URL that no connection can be opened with. */
export const addressFault = (url: Redacted.Redacted): string | undefined => {
  const text = Redacted.value(url)
  if (!URL.canParse(text)) return "takes a URL"
  const parameters = new URL(text).searchParams
  const fault = namesOf(parameters, "sslmode", modes) ?? namesOf(parameters, "sslnegotiation", negotiations)
  if (fault !== undefined) return fault
  for (const name of Object.keys(files) as ReadonlyArray<keyof typeof files>) {
    const path = fileOf(parameters, name)
    if (path === undefined) continue
    try {
      readFileSync(path)
    } catch (error) {
      return `takes a file that the server can read in \`${name}=\`; ${path} is not (${codeOf(error)})`
    }
  }
  const needsCa = parameters.get("sslmode") === "verify-ca" && parameters.get("uselibpqcompat") === "true"
  return needsCa && fileOf(parameters, "sslrootcert") === undefined
    ? "takes other parameters: sslmode=verify-ca needs sslrootcert, or else sslmode=verify-full"
    : undefined
}

/** OpenSSL's names for a chain that ends with an unknown authority. */
const unknownAuthority =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/
/** As PostgreSQL, PgBouncer, Neon and Supabase say it. */
const demandsTls = /no encryption|SSL off|(SSL|TLS)( connection)? (is )?required|connection is insecure/i

/** Advice on the URL, if the other side does not accept what it says about the connection. */
export const advice = (cause: unknown): string | undefined => {
  const message = String((cause as { readonly message?: unknown } | undefined)?.message)
  if (unknownAuthority.test(codeOf(cause))) {
    return "Add the CA certificate of the database's provider to DATABASE_URL, as sslrootcert=/path/ca.pem, or encrypt without a check of the server, with sslmode=no-verify."
  }
  if (codeOf(cause) === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return "Use a host name of the certificate in DATABASE_URL, or encrypt without a check of the server, with sslmode=no-verify."
  }
  if (message.includes("does not support TLS")) return "Remove sslmode from DATABASE_URL, or set sslmode=disable."
  if (message.includes("unsupported startup parameter")) {
    return "Remove that parameter from DATABASE_URL, or add it to ignore_startup_parameters of PgBouncer."
  }
  return demandsTls.test(message) ? "Add sslmode=require to DATABASE_URL." : undefined
}

/** Waiting does not help: a wrong password, name or parameter. */
export const isPermanent = (cause: unknown): boolean => /^(28|3D)/.test(codeOf(cause)) || advice(cause) !== undefined
