import { Link } from "wouter"
import { type PageName, pathTo } from "../../api/Pages.ts"
import { type Needs, useMay } from "../api/Access.ts"

type Section = Extract<PageName, "apiKeys" | "sessions" | "server" | "audit">

/** The pages of the settings, and what one must be allowed to do to see them. */
const sections: ReadonlyArray<readonly [Section, title: string, Needs]> = [
  ["apiKeys", "API keys", "apiKeys.list"],
  ["sessions", "Sessions", "sessions.list"],
  ["server", "Server", "overview.server"],
  ["audit", "Audit", "audit.list"]
]

/** The sections that the user may see. */
export const useSettingsSections = () => {
  const may = useMay()
  return sections.filter(([, , needs]) => may(needs))
}

export const SettingsSections = ({ current }: { readonly current: Section }) => (
  <nav className="tab-list" aria-label="Settings">
    {useSettingsSections().map(([page, title]) => (
      <Link key={page} to={pathTo(page)} className="tab" {...(page === current && { "aria-current": "page" as const })}>
        {title}
      </Link>
    ))}
  </nav>
)
