/**
 * The key that signs requests to the bucket: one of the settings, or one for some hours, which a cloud gives to the server. The
 * two requests for it are all that is needed of AWS's own libraries, which have 20 packages for them.
 */
import { readFile } from "node:fs/promises"
import { Redacted } from "effect"

/** An access key; with a session token, one that expires. */
interface AccessKey {
  readonly keyId: Redacted.Redacted
  readonly secret: Redacted.Redacted
  readonly sessionToken?: Redacted.Redacted
}

/** A role of AWS's IAM, for whom the token in a file stands: https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html */
interface WebIdentity {
  readonly roleArn: string
  /** Kubernetes renews the token in it. */
  readonly tokenFile: string
  readonly sessionName?: string
  /** The address of the Security Token Service. Default: AWS's of the region. */
  readonly stsUrl?: string
}

/** An endpoint beside the container, as EKS Pod Identity and ECS have: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html */
interface ContainerCredentials {
  readonly credentialsUrl: string
  /** The value of `Authorization`, or the file that has it, which is read for each request. */
  readonly authorization?: Redacted.Redacted
  readonly authorizationFile?: string
}

export type Credentials = AccessKey | WebIdentity | ContainerCredentials

/** Milliseconds before its end at which a key is replaced. */
const renewBefore = 5 * 60_000
/** No answer is longer, in characters. */
const longest = 64 * 1024

interface Given {
  readonly key: AccessKey
  /** In milliseconds since the epoch. */
  readonly until: number
}

const failed = (who: string, what: unknown) => {
  const error = what instanceof Error ? ((what.cause ?? what) as Error & { readonly code?: string }) : undefined
  const reason = error === undefined ? what : (error.code ?? error.message)
  return new Error(`${who} gave no credentials: ${reason}`)
}

const fileText = (path: string): Promise<string> =>
  readFile(path, "utf8").then(
    (text) => text.trim(),
    ({ code }) => {
      throw new Error(`the token in ${path} cannot be read: ${code}`)
    }
  )

const given = (keyId: unknown, secret: unknown, token: unknown, expiration: unknown): Given => {
  if (typeof keyId !== "string" || typeof secret !== "string") throw new Error("its answer has none")
  const until = Date.parse(String(expiration))
  return {
    key: {
      keyId: Redacted.make(keyId),
      secret: Redacted.make(secret),
      ...(typeof token === "string" && { sessionToken: Redacted.make(token) })
    },
    until: Number.isNaN(until) ? Date.now() + renewBefore : until
  }
}

const textOf = async (response: Response) => {
  const text = (await response.text()).slice(0, longest)
  if (!response.ok) throw new Error([response.status, /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1]].join(" ").trim())
  return text
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
const assumeRole = async (identity: WebIdentity, region: string, signal: AbortSignal): Promise<Given> => {
  const { roleArn, sessionName = "webhook-trigger", tokenFile } = identity
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
  const { stsUrl = `https://sts.${region}.${domain}` } = identity
  const body = new URLSearchParams({
    ...{ Action: "AssumeRoleWithWebIdentity", Version: "2011-06-15", RoleArn: roleArn, RoleSessionName: sessionName },
    WebIdentityToken: await fileText(tokenFile)
  })
  const text = await textOf(await fetch(stsUrl, { method: "POST", body, redirect: "manual", signal }))
  const field = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1]?.trim()
  return given(field("AccessKeyId"), field("SecretAccessKey"), field("SessionToken"), field("Expiration"))
}

const askContainer = async (container: ContainerCredentials, signal: AbortSignal): Promise<Given> => {
  const { authorization, authorizationFile, credentialsUrl } = container
  const token =
    authorizationFile === undefined ? authorization && Redacted.value(authorization) : await fileText(authorizationFile)
  const headers: Record<string, string> = token === undefined ? {} : { authorization: token }
  const body = JSON.parse(await textOf(await fetch(credentialsUrl, { headers, redirect: "manual", signal })))
  return given(body?.AccessKeyId, body?.SecretAccessKey, body?.Token, body?.Expiration)
}

interface KeySource {
  /** A key that is still valid for some minutes, if there is one. */
  readonly current: (signal: AbortSignal) => Promise<AccessKey>
  /** The store calls this key invalid or expired. Returns whether there may be another one. */
  readonly refused: (key: AccessKey) => boolean
}

export const keySource = (credentials: Credentials, region: string): KeySource => {
  if ("keyId" in credentials) return { current: async () => credentials, refused: () => false }
  let last: Given | undefined
  const isRole = "roleArn" in credentials
  const who = isRole ? "the Security Token Service" : "the container's credentials endpoint"
  const ask = (signal: AbortSignal) =>
    (isRole ? assumeRole(credentials, region, signal) : askContainer(credentials, signal)).catch((error) => {
      throw failed(who, error)
    })
  return {
    // Requests at the same time ask each for itself: a shared one would end with the first one's deadline.
    current: async (signal) => {
      if (last !== undefined && last.until - Date.now() > renewBefore) return last.key
      try {
        last = await ask(signal)
      } catch (error) {
        if (last === undefined || last.until <= Date.now()) throw error
      }
      return last.key
    },
    refused: (key) => {
      if (last?.key === key) last = undefined
      return true
    }
  }
}
