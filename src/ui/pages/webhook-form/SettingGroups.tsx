/** The webhook form's optional settings, in foldable groups. */
import { type SettingGroup, settingGroups } from "../../../domain/webhook/WebhookSettingKinds.ts"
import {
  type WebhookSettingName,
  webhookSettingNames,
  webhookSettings
} from "../../../domain/webhook/WebhookSettings.ts"
import type { Server, Webhook } from "../../api/Types.ts"
import { Fold } from "./Fold.tsx"
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
