import { useQuery } from "@tanstack/react-query"
import { Component, type ReactNode, useEffect, useState } from "react"
import { Link, useLocation } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import { personName } from "../../domain/access/PersonName.ts"
import { type LiveStatus, useLiveStatus } from "../api/Live.ts"
import { sessionQuery, useQuestions, useServer } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { Dialog } from "../components/Dialog.tsx"
import { Icon } from "../components/Icon.tsx"
import { loadLater } from "../components/Loaded.tsx"
import { Notice } from "../components/Notice.tsx"
import { UserText } from "../components/UserText.tsx"
import { useSettingsSections } from "../pages/SettingsSections.tsx"
import { PageRouter } from "./Router.tsx"
import { useShortcuts, withModifier } from "./Shortcuts.ts"
import { ThemeButton } from "./Theme.tsx"
import { mount, uiPath } from "./UiPath.ts"

const Palette = loadLater(() => import("./Palette.tsx"))

const liveText: Record<LiveStatus, string> = { live: "Live", polling: "Polling", offline: "Offline" }

/** The header and the current page. */
export const Layout = ({ onSignOut }: { readonly onSignOut: () => void }) => {
  const [path, navigate] = useLocation()
  // The menu of a narrow window. A wide one shows the sections anyway.
  const [menu, setMenu] = useState(false)
  const live = useLiveStatus()
  const server = useServer()
  const settings = useSettingsSections().map(([page]) => pathTo(page))
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page starts at its top.
  useEffect(() => {
    window.scrollTo(0, 0)
    setMenu(false)
  }, [path])
  // On the runs page, `/` selects the search text instead.
  useShortcuts({ "/": () => navigate(pathTo("runs"), { state: { find: true } }) }, path !== pathTo("runs"))
  return (
    <div className="layout">
      <a className="button skip" href="#content">
        Skip to content
      </a>
      <header className="header">
        <div className="header-inner">
          <Link to={pathTo("home")} className="brand">
            <img src={`${uiPath}/icon.svg`} alt="" />
            <span>Webhook Trigger</span>
          </Link>
          <button
            type="button"
            className="button quiet menu-button"
            aria-expanded={menu}
            aria-controls="sections"
            onClick={() => setMenu(!menu)}
          >
            <Icon name="menu" />
            Menu
          </button>
          <nav className={menu ? "nav open" : "nav"} id="sections" aria-label="Sections">
            <SectionLink to={pathTo("home")} path={path} text="Overview" />
            <SectionLink to={pathTo("webhooks")} path={path} text="Webhooks" />
            <SectionLink to={pathTo("runs")} path={path} text="Runs" />
            <SectionLink to={pathTo("teams")} path={path} text="Teams" />
            <SectionLink to={pathTo("alerts")} path={path} text="Alerts" />
            {settings[0] !== undefined && (
              <SectionLink to={settings[0]} path={settings.includes(path) ? settings[0] : path} text="Settings" />
            )}
          </nav>
          <Questions />
          <Search />
          <div className={`live ${live}`} role="status">
            <span>{liveText[live]}</span>
          </div>
          <Who header />
          <ThemeButton />
          <Button variant="quiet" icon="exit" label="Sign out" onPress={onSignOut} />
        </div>
      </header>
      <main className="main" id="content">
        {live === "offline" && (
          <div className="offline-notice">
            <Notice tone="warning">
              The server cannot be reached. This page may be out of date; it retries automatically.
            </Notice>
          </div>
        )}
        <ErrorBoundary key={path}>
          <PageRouter />
        </ErrorBoundary>
      </main>
      <footer className="footer">
        <span>Webhook Trigger {server.data?.version}</span>
        <Who />
        {/* Served by the server, outside the UI. */}
        {server.data?.api_docs && (
          <>
            <a href={`${mount}/docs/README.md`}>Guides</a>
            <a href={`${mount}/docs`}>API documentation</a>
            <a href={`${mount}/openapi.json`}>OpenAPI</a>
          </>
        )}
      </footer>
    </div>
  )
}

/** Finds everything with a name. */
const Search = () => {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  useShortcuts({ "mod+k": () => setOpen(true) })
  const close = () => setOpen(false)
  return (
    <div className="search-button">
      <Button variant="quiet" icon="search" onPress={() => setOpen(true)}>
        <span>Search</span> <kbd>{withModifier("K")}</kbd>
      </Button>
      {open && (
        <Dialog title="Search" kind="search" onClose={close}>
          <ErrorBoundary>
            <Palette
              onClose={close}
              onOpen={(to) => {
                close()
                navigate(to)
              }}
            />
          </ErrorBoundary>
        </Dialog>
      )}
    </div>
  )
}

/** How many agents wait for a reply, and runs for approval; absent while none does. */
const Questions = () => {
  const count = useQuestions().length
  if (count === 0) return null
  return (
    <Link to={`${pathTo("runs")}?status=asks`} className="badge info questions">
      <Icon name="question" />
      <span aria-hidden="true">{count > 99 ? "99+" : count}</span>
      <span className="sr-only">Questions and approvals: {count}</span>
    </Link>
  )
}

/** The person, by the name from the provider, or the API key. */
const Who = ({ header = false }: { readonly header?: boolean }) => {
  const access = useQuery(sessionQuery).data?.access
  const name = access?.person === undefined ? access?.key_name : personName(access.person)
  if (name === undefined) return null
  if (header) {
    return (
      <span className="who">
        <UserText>{name}</UserText>
      </span>
    )
  }
  return (
    <span>
      Signed in as <UserText>{name}</UserText>
    </span>
  )
}

const SectionLink = ({ to, path, text }: { readonly to: string; readonly path: string; readonly text: string }) => (
  <Link to={to} {...((to === "/" ? path === to : path.startsWith(to)) ? { "aria-current": "page" as const } : {})}>
    {text}
  </Link>
)

/** The router's events for followed links, even to the current address. */
const navigations = ["pushState", "replaceState", "popstate"]

/**
 * Replaces a page that failed to render, until the next navigation. The usual cause is code that could not be loaded: the
 * connection was lost, or the server was updated.
 */
class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: undefined as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  readonly retry = () => {
    if (this.state.error !== undefined) this.setState({ error: undefined })
  }

  override componentDidMount() {
    for (const event of navigations) window.addEventListener(event, this.retry)
  }

  override componentWillUnmount() {
    for (const event of navigations) window.removeEventListener(event, this.retry)
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <Notice tone="danger">
        <div className="row between">
          <p>
            This page could not be shown. The connection was lost, or the server has been updated since you opened it.
          </p>
          <div className="row">
            <Button compact onPress={this.retry}>
              Try again
            </Button>
            <Button compact onPress={() => location.reload()}>
              Reload
            </Button>
          </div>
        </div>
      </Notice>
    )
  }
}
