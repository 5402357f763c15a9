import { useCombobox } from "downshift"
import { useId, useState } from "react"

type Option<Value extends string> = readonly [value: Value, text: string]

const sameCase = (text: string) => text.toLowerCase()

/** A labelled list of many options, which finds them as the user types: a combobox, as WAI-ARIA describes it. */
export const SearchableSelect = <Value extends string>({
  label,
  value,
  onChange,
  options,
  hideLabel,
  help,
  fault
}: {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  /** The first one is chosen by emptying the field. */
  readonly options: ReadonlyArray<Option<Value>>
  readonly hideLabel?: boolean
  readonly help?: string
  readonly fault?: string | undefined
}) => {
  const [faultId, helpId] = [useId(), useId()]
  const describedBy = [...(help ? [helpId] : []), ...(fault ? [faultId] : [])].join(" ")
  /** Undefined: the field shows the selected option. */
  const [typed, setTyped] = useState<string>()
  const selected = options.find(([option]) => option === value) ?? ([value, value] as const)
  const sought = sameCase(typed ?? "").trim()
  const found = options.filter(([, text]) => sameCase(text).includes(sought))
  const { getInputProps, getItemProps, getLabelProps, getMenuProps, getToggleButtonProps, highlightedIndex, isOpen } =
    useCombobox<Option<Value>>({
      items: [...found],
      selectedItem: selected,
      inputValue: typed ?? selected[1],
      itemToString: (item) => item?.[1] ?? "",
      itemToKey: (item) => item?.[0],
      // Only Enter and a click choose: leaving the field keeps the choice.
      stateReducer: ({ selectedItem }, { changes, type }) =>
        type === useCombobox.stateChangeTypes.InputBlur || type === useCombobox.stateChangeTypes.InputKeyDownEscape
          ? { ...changes, selectedItem }
          : changes,
      onSelectedItemChange: ({ selectedItem }) => selectedItem !== null && onChange(selectedItem[0]),
      onIsOpenChange: ({ isOpen, type }) => {
        if (isOpen) return
        const isEmptied = type === useCombobox.stateChangeTypes.InputBlur && typed === ""
        if (isEmptied && options[0] !== undefined) onChange(options[0][0])
        setTyped(undefined)
      }
    })
  const { htmlFor, ...labelProps } = getLabelProps()
  return (
    <div className="field">
      <label {...labelProps} htmlFor={htmlFor} className={hideLabel ? "sr-only" : "label"}>
        {label}
      </label>
      <div className="combobox">
        <input
          {...getInputProps({
            onChange: (event) => setTyped(event.currentTarget.value),
            onFocus: (event) => event.currentTarget.select(),
            // A dialog would close, too.
            onKeyDown: (event) => isOpen && event.key === "Escape" && event.stopPropagation()
          })}
          className="input"
          spellCheck={false}
          {...(describedBy && { "aria-describedby": describedBy })}
          {...(fault && { "aria-invalid": true })}
        />
        <button
          {...getToggleButtonProps({ "aria-label": "Show the list" })}
          type="button"
          className="combobox-button"
        />
        <ul {...getMenuProps()} className="combobox-list options" hidden={!isOpen}>
          {isOpen &&
            found.map((item, index) => (
              <li
                {...getItemProps({ item, index })}
                key={item[0]}
                className="option"
                {...(index === highlightedIndex && { "data-focused": true })}
                {...(item[0] === value && { "data-selected": true })}
              >
                <bdi>{item[1]}</bdi>
              </li>
            ))}
        </ul>
        {isOpen && found.length === 0 && <p className="combobox-list muted">No match.</p>}
      </div>
      {help && (
        <span id={helpId} className="help">
          {help}
        </span>
      )}
      {fault && (
        <span id={faultId} className="fault">
          {fault}
        </span>
      )}
    </div>
  )
}
