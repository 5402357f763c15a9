import { createContext, type ReactNode, useContext } from "react"
import { ruleOf, type rules } from "../../api/access/Rules.ts"
import { mayDo } from "../../domain/access/Roles.ts"
import type { Access } from "./Types.ts"

/** An endpoint, such as `webhooks.edit`. */
export type Needs = {
  readonly [Group in keyof typeof rules]: `${Group}.${keyof (typeof rules)[Group] & string}`
}[keyof typeof rules]

/** The session's permissions. Only a hint for what to show: the server checks every request. */
export const AccessContext = createContext<Pick<Access, "role" | "teams">>({ role: "admin" })

/** Tells whether the session may call an endpoint. */
export const useMay = () => {
  const { role, teams } = useContext(AccessContext)
  return (needs: Needs): boolean => {
    const [group = "", endpoint = ""] = needs.split(".")
    const rule = ruleOf(group, endpoint)
    return rule !== undefined && mayDo(role, rule[0]) && !(rule[1] === "server" && teams !== undefined)
  }
}

/** Shows its content only to those who may call the endpoint. */
export const Allowed = ({ needs, children }: { readonly needs: Needs; readonly children: ReactNode }): ReactNode =>
  useMay()(needs) ? children : null
