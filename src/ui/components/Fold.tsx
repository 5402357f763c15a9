import { type ReactNode, useLayoutEffect, useRef, useState } from "react"

/**
 * A headed part of a form that can be folded, with what is set in it beside its heading. At first it is open if anything is;
 * a fault in it opens it.
 */
export const Fold = ({
  title,
  set,
  unset,
  faulty,
  children
}: {
  readonly title: string
  readonly set: ReadonlyArray<string>
  /** What there is to set, shown while nothing is. */
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
