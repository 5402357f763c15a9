/** The webhook form's optional settings, in foldable groups. */

import { type ReactNode, useLayoutEffect, useRef, useState } from "react"
import { type SettingGroup, settingGroups } from "../../../domain/webhook/WebhookSettingKinds.ts"
import {
  type WebhookSettingName,
  webhookSettingNames,
  webhookSettings
} from "../../../domain/webhook/WebhookSettings.ts"
import type { Server, Webhook } from "../../api/Types.ts"
import { TextField } from "../../components/form/TextField.tsx"
import { Toggle } from "../../components/form/Toggle.tsx"
import {
  VerificationFields,
  type VerificationTexts,
  verificationInShort,
  verificationPointers
} from "./VerificationFields.tsx"
import { isSet, SettingFields, type SettingTexts, settingInShort } from "./WebhookSettings.tsx"

const groups = Object.entries(settingGroups) as ReadonlyArray<[SettingGroup, string]>

type Texts = SettingTexts & VerificationTexts

const verificationWords = "verification signature secret token webhook key"

/** Whether each word is in what a setting says about itself. */
const isFound = (sought: string, text: string): boolean =>
  sought
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.toLowerCase().includes(word))

export const SettingGroups = ({
  texts,
  onChange,
  server,
  webhook,
  faultAt
}: {
  readonly texts: Texts
  readonly onChange: (change: Partial<Texts>) => void
  readonly server: Server
  readonly webhook: Webhook | undefined
  /** The error message at a JSON Pointer. */
  readonly faultAt: (pointer: string) => string | undefined
}) => {
  const [sought, setSought] = useState("")
  // The settings that had values when it was chosen, and each one since: a field that is emptied stays.
  const [chosen, setChosen] = useState<ReadonlySet<WebhookSettingName>>()
  const isPart = sought.trim() !== "" || chosen !== undefined
  const faultOf = (name: WebhookSettingName) => faultAt(`/${name}`)
  const verification = verificationInShort(texts)
  const isShown = (name: WebhookSettingName) => {
    const { help, label, option } = webhookSettings[name]
    return (
      faultOf(name) !== undefined ||
      (isFound(sought, `${label} ${option} ${name} ${help}`) && (!chosen || chosen.has(name) || isSet(texts, name)))
    )
  }
  const shown = groups.map(([group, title]) => {
    const ofGroup = webhookSettingNames.filter((name) => webhookSettings[name].group === group)
    const verifies = group === "callers"
    const isFaulty = verifies && verificationPointers(texts).some((pointer) => faultAt(pointer) !== undefined)
    return {
      ...{ group, title, isFaulty, ofGroup, verifies },
      names: ofGroup.filter(isShown),
      showsVerification:
        verifies && (isFaulty || (isFound(sought, verificationWords) && (!chosen || verification !== undefined)))
    }
  })
  return (
    <>
      {/* Enter in these must not save the form. */}
      <div
        className="row between setting-search"
        role="search"
        onKeyDown={(event) => event.key === "Enter" && !event.ctrlKey && event.preventDefault()}
      >
        <TextField
          type="search"
          label="Find a setting"
          hideLabel
          placeholder="Find a setting"
          value={sought}
          onChange={setSought}
        />
        <Toggle
          on={chosen !== undefined}
          onChange={(on) =>
            setChosen(on ? new Set(webhookSettingNames.filter((name) => isSet(texts, name))) : undefined)
          }
        >
          Only what is set
        </Toggle>
      </div>
      {shown
        .filter(({ names, showsVerification }) => showsVerification || names.length > 0)
        .map(({ group, isFaulty, names, ofGroup, showsVerification, title, verifies }) => {
          const set = ofGroup.filter((name) => isSet(texts, name)).map((name) => settingInShort(name, texts[name]))
          const labels = ofGroup.map((name) => webhookSettings[name].label)
          return (
            <Fold
              key={isPart ? `part of ${group}` : group}
              title={title}
              isOpen={isPart}
              set={verifies && verification !== undefined ? [verification, ...set] : set}
              unset={(verifies ? ["Verification", ...labels] : labels).join(", ")}
              faulty={isFaulty || names.some((name) => faultOf(name) !== undefined)}
            >
              {showsVerification && (
                <VerificationFields texts={texts} onChange={onChange} webhook={webhook} faultAt={faultAt} />
              )}
              <SettingFields names={names} texts={texts} onChange={onChange} server={server} faultOf={faultOf} />
            </Fold>
          )
        })}
      {shown.every(({ names, showsVerification }) => !showsVerification && names.length === 0) && (
        <p className="muted">{sought.trim() === "" ? "All settings have their defaults." : "No setting matches."}</p>
      )}
    </>
  )
}

/** A foldable part of a form with a summary of its values. It is open initially if a value is set, and after an error. */
const Fold = ({
  title,
  isOpen,
  set,
  unset,
  faulty,
  children
}: {
  readonly title: string
  /** Open initially in any case. */
  readonly isOpen: boolean
  readonly set: ReadonlyArray<string>
  /** The names of the settings, shown if none is set. */
  readonly unset: string
  readonly faulty: boolean
  readonly children: ReactNode
}) => {
  const fold = useRef<HTMLDetailsElement>(null)
  const [openAtFirst] = useState(isOpen || set.length > 0)
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
