import { type ReactNode, useLayoutEffect, useRef, useState } from "react"

/** A foldable part of a form with a summary of its values. It is open initially if a value is set, and after an error. */
export const Fold = ({
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
