/** The page that a sign-in returns to: only a page of the web UI, never another address. */
import { pages } from "../../api/Pages.ts"
import { isExactly } from "../request/ExactPath.ts"

const base = "http://localhost"

/** Maximum length: it is part of a cookie. */
const maxLength = 1_000

/** The page's path and query, or the home page. */
export const returnPage = (given: string | null | undefined): string => {
  if (given === null || given === undefined || given.length > maxLength || !URL.canParse(given, base)) return pages.home
  const { origin, pathname, search } = new URL(given, base)
  const isPage = Object.values(pages).some((page) => page !== pages.signIn && isExactly(page, pathname))
  return origin === base && isPage ? pathname + search : pages.home
}
