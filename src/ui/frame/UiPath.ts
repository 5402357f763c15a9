/** The path below which the server serves the UI, without a slash at its end. */
export const uiPath = document.documentElement.dataset.path ?? ""

/** Where the server's other addresses are, such as `/api`. */
export const mount = document.documentElement.dataset.mount ?? ""

// Somebody who is not behind the proxy, whose path the server accepts, too.
if (location.pathname !== uiPath && !location.pathname.startsWith(`${uiPath}/`)) {
  history.replaceState(history.state, "", uiPath + location.pathname + location.search + location.hash)
}

/** The page that the browser shows: its path below the UI's, with the query. */
export const currentPage = (): string => {
  const { pathname, search } = location
  return `${pathname.startsWith(`${uiPath}/`) ? pathname.slice(uiPath.length) : "/"}${search}`
}
