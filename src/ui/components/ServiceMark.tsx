import type { CSSProperties } from "react"
import * as generic from "../../domain/verification/generic.ts"
import { type PresetName, presets } from "../../domain/verification/Presets.ts"

/** The first capitals of the name, as in GitHub and Microsoft Teams; else its first two letters. */
const lettersOf = (label: string): string => {
  const capitals = label.replace(/\(.*/, "").match(/\p{Lu}/gu) ?? []
  return capitals.length > 1 ? capitals.slice(0, 2).join("") : label.slice(0, 2)
}

/** One of ten, so that two are equal or differ visibly. With this factor, services of one initial mostly differ. */
const hueOf = (preset: string): number =>
  ([...preset].reduce((sum, letter) => sum * 7 + letter.charCodeAt(0), 0) % 10) * 36

/** A drawing of letters for the service that calls a webhook. A way to sign is no service and has none. */
export const ServiceMark = ({
  preset,
  titled = false
}: {
  readonly preset: PresetName
  /** The service's name is not beside it. */
  readonly titled?: boolean
}) => {
  if (Object.hasOwn(generic, preset)) return null
  const { label } = presets[preset]
  return (
    <span
      className="service-mark"
      style={{ "--hue": hueOf(preset) } as CSSProperties}
      {...(titled && { title: label })}
    >
      <span aria-hidden="true">{lettersOf(label)}</span>
      {titled && <span className="sr-only">{label}</span>}
    </span>
  )
}
