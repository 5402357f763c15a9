import { useCombobox } from "downshift"
import { useState } from "react"
import { pathTo } from "../../api/Pages.ts"
import { titleOf } from "../../domain/run/RunTitle.ts"
import type { PresetName } from "../../domain/verification/Presets.ts"
import { recipeNames, recipes } from "../../recipes/Recipes.ts"
import { useMay } from "../api/Access.ts"
import { useFoundRun, useTeams, useWebhooks } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { Icon } from "../components/Icon.tsx"
import { ServiceMark } from "../components/ServiceMark.tsx"
import { UserText } from "../components/UserText.tsx"
import { plural } from "../format/Format.ts"
import { useSettingsSections } from "../pages/SettingsSections.tsx"

interface Entry {
  readonly text: string
  readonly kind: string
  readonly to: string
  /** The service that calls it. */
  readonly preset?: PresetName | undefined
}

/** As many entries are shown. */
const portion = 50

/** Everything that the user may open, in the order in which it is shown before anything is typed. */
const useEntries = (): ReadonlyArray<Entry> => {
  const may = useMay()
  const webhooks = useWebhooks().data ?? []
  const teams = useTeams().data ?? []
  const settings = useSettingsSections()
  const page = (text: string, to: string): Entry => ({ text, kind: "Page", to })
  const mayCreate = may("webhooks.create")
  return [
    page("Overview", pathTo("home")),
    page("Webhooks", pathTo("webhooks")),
    ...(mayCreate ? [page("New webhook", pathTo("newWebhook"))] : []),
    page("Runs", pathTo("runs")),
    page("Questions and approvals", `${pathTo("runs")}?status=asks`),
    page("Teams", pathTo("teams")),
    page("Alerts", pathTo("alerts")),
    ...settings.map(([name, title]) => page(title, pathTo(name))),
    ...webhooks.map((webhook) => ({
      text: webhook.name,
      kind: `Webhook of ${webhook.team}`,
      to: pathTo("webhook", webhook),
      preset: webhook.verification?.preset
    })),
    ...teams.map(({ team }) => ({ text: team, kind: "Team", to: pathTo("team", { team }) })),
    ...(mayCreate ? recipeNames : []).map((name) => ({
      text: `New webhook from ${recipes[name].label}`,
      kind: "Recipe",
      to: `${pathTo("newWebhook")}?from=${name}`,
      preset: recipes[name].verification.preset
    }))
  ]
}

/** The entries that contain all words: first those that begin with the text, then those with a word that does. */
const matching = (entries: ReadonlyArray<Entry>, sought: string): ReadonlyArray<Entry> => {
  const words = sought.split(/\s+/)
  const rank = ({ text }: Entry): number => {
    const name = text.toLowerCase()
    return name.startsWith(sought)
      ? 0
      : name.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(words[0]!))
        ? 1
        : 2
  }
  return entries
    .filter(({ kind, text }) => words.every((word) => `${text} ${kind}`.toLowerCase().includes(word)))
    .map((entry) => [rank(entry), entry] as const)
    .sort(([a], [b]) => a - b)
    .map(([, entry]) => entry)
}

/** The entries that a text finds. Runs can be searched for any text. */
const useFound = (text: string): ReadonlyArray<Entry> => {
  const entries = useEntries()
  const run = useFoundRun(text)
  if (text === "") return entries.slice(0, portion)
  const search = `${pathTo("runs")}?${new URLSearchParams({ search: text })}`
  return [
    ...(run ? [{ text: titleOf(run), kind: "Run", to: pathTo("run", run) }] : []),
    ...matching(entries, text.toLowerCase()).slice(0, portion),
    { text: `Search the runs for “${text}”`, kind: "Runs", to: search }
  ]
}

/** A field that finds everything with a name as the user types: a combobox, as WAI-ARIA describes it. */
const Palette = ({ onOpen, onClose }: { readonly onOpen: (to: string) => void; readonly onClose: () => void }) => {
  const [typed, setTyped] = useState("")
  const found = useFound(typed.trim())
  const { InputBlur, InputKeyDownEnter, ItemClick, MenuMouseLeave } = useCombobox.stateChangeTypes
  const { getInputProps, getItemProps, getLabelProps, getMenuProps, highlightedIndex } = useCombobox<Entry>({
    items: [...found],
    isOpen: true,
    selectedItem: null,
    inputValue: typed,
    initialHighlightedIndex: 0,
    defaultHighlightedIndex: 0,
    itemToString: (entry) => entry?.text ?? "",
    itemToKey: (entry) => entry?.to,
    // Enter always has something to open.
    stateReducer: (state, { changes, type }) => (type === InputBlur || type === MenuMouseLeave ? state : changes),
    onStateChange: ({ selectedItem, type }) => {
      if (selectedItem && (type === InputKeyDownEnter || type === ItemClick)) onOpen(selectedItem.to)
    }
  })
  const { htmlFor, ...labelProps } = getLabelProps()
  return (
    <>
      <div className="palette-field">
        <Icon name="search" />
        <label {...labelProps} htmlFor={htmlFor} className="sr-only">
          Search pages, webhooks, teams and recipes, or a run by its ID
        </label>
        <input
          {...getInputProps({
            onChange: (event) => setTyped(event.currentTarget.value),
            // The browser's own shortcut would take the focus.
            onKeyDown: (event) => {
              if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return
              event.preventDefault()
              onClose()
            }
          })}
          placeholder="Page, webhook, team, service or run ID"
          spellCheck={false}
          autoCapitalize="none"
          enterKeyHint="go"
          // biome-ignore lint/a11y/noAutofocus: the dialog is opened to type here.
          autoFocus
        />
        <Button variant="quiet" compact icon="cross" label="Close" onPress={onClose} />
      </div>
      <p className="sr-only" role="status">
        {plural(found.length, "result")}
      </p>
      <ul {...getMenuProps()} className="options palette-list">
        {found.map((entry, index) => (
          <li
            {...getItemProps({ item: entry, index })}
            key={`${entry.kind} ${entry.to}`}
            className="option"
            {...(index === highlightedIndex && { "data-focused": true })}
          >
            {entry.preset && <ServiceMark preset={entry.preset} />}
            <span className="grow">
              <UserText>{entry.text}</UserText>
            </span>
            <span className="small muted">{entry.kind}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

export default Palette
