/** The path below which the server serves the UI, without a slash at its end. */
export const uiPath = document.documentElement.dataset.path ?? ""

/** The page that the browser shows: its path below the UI's, with the query. */
export const currentPage = (): string => {
  const { pathname, search } = location
  return `${pathname.startsWith(`${uiPath}/`) ? pathname.slice(uiPath.length) : "/"}${search}`
}
