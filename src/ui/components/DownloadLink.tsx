import { type MouseEvent, type ReactNode, useRef } from "react"
import { isSignInFresh } from "../api/Queries.ts"
import { mount } from "../frame/UiPath.ts"

/** A download that needs a fresh sign-in. */
export const DownloadLink = ({ href, children }: { readonly href: string; readonly children: ReactNode }) => {
  const isChecked = useRef(false)
  const download = async (event: MouseEvent<HTMLAnchorElement>) => {
    const link = event.currentTarget
    if (isChecked.current) {
      isChecked.current = false
      return
    }
    event.preventDefault()
    if (!(await isSignInFresh().catch(() => false))) return
    isChecked.current = true
    link.click()
  }
  return (
    <a className="button" href={mount + href} download onClick={download}>
      {children}
    </a>
  )
}
