/** The webhook form's optional settings, in foldable groups. */

import { type ReactNode, useLayoutEffect, useRef, useState } from "react"
import { type SettingGroup, settingGroups } from "../../../domain/webhook/WebhookSettingKinds.ts"
import {
  type WebhookSettingName,
  webhookSettingNames,
  webhookSettings
} from "../../../domain/webhook/WebhookSettings.ts"
import type { Server, Webhook } from "../../api/Types.ts"
import {
  VerificationFields,
  type VerificationTexts,
  verificationInShort,
  verificationPointers
} from "./VerificationFields.tsx"
import { SettingFields, type SettingTexts, settingInShort } from "./WebhookSettings.tsx"

const groups = Object.entries(settingGroups) as ReadonlyArray<[SettingGroup, string]>

export const SettingGroups = ({
  texts,
  onChange,
  server,
  webhook,
  faultAt
}: {
  readonly texts: SettingTexts & VerificationTexts
  readonly onChange: (change: Partial<SettingTexts & VerificationTexts>) => void
  readonly server: Server
  readonly webhook: Webhook | undefined
  /** The error message at a JSON Pointer. */
  readonly faultAt: (pointer: string) => string | undefined
}) =>
  groups.map(([group, title]) => {
    const names = webhookSettingNames.filter((name) => webhookSettings[name].group === group)
    const faultOf = (name: WebhookSettingName) => faultAt(`/${name}`)
    const set = names.filter((name) => texts[name].trim() !== "").map((name) => settingInShort(name, texts[name]))
    const labels = names.map((name) => webhookSettings[name].label)
    const verifies = group === "callers"
    const verification = verifies ? verificationInShort(texts) : undefined
    return (
      <Fold
        key={group}
        title={title}
        set={verification === undefined ? set : [verification, ...set]}
        unset={(verifies ? ["Verification", ...labels] : labels).join(", ")}
        faulty={
          names.some((name) => faultOf(name) !== undefined) ||
          (verifies && verificationPointers(texts).some((pointer) => faultAt(pointer) !== undefined))
        }
      >
        {verifies && <VerificationFields texts={texts} onChange={onChange} webhook={webhook} faultAt={faultAt} />}
        <SettingFields names={names} texts={texts} onChange={onChange} server={server} faultOf={faultOf} />
      </Fold>
    )
  })

/** A foldable part of a form with a summary of its values. It is open initially if a value is set, and after an error. */
const Fold = ({
  title,
  set,
  unset,
  faulty,
  children
}: {
  readonly title: string
  readonly set: ReadonlyArray<string>
  /** The names of the settings, shown if none is set. */
  readonly unset: string
  readonly faulty: boolean
  readonly children: ReactNode
}) => {
  const fold = useRef<HTMLDetailsElement>(null)
  const [openAtFirst] = useState(set.length > 0)
  useLayoutEffect(() => {
    if (faulty) fold.current!.open = true
  }, [faulty])
  return (
    <details ref={fold} className="fold" open={openAtFirst}>
      <summary>
        <h2>{title}</h2>
        <span className={set.length === 0 ? "fold-set help" : "fold-set small"}>
          {set.length === 0 ? `Not set: ${unset}` : set.join(" · ")}
        </span>
      </summary>
      <div className="stack">{children}</div>
    </details>
  )
}
