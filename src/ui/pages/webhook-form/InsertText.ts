/** Puts a text at the cursor, in place of what is selected, as typing does: undo takes it back. */
export const insertText = (area: HTMLTextAreaElement, text: string): void => {
  area.focus()
  // Deprecated, and still the only way that keeps the history of undo.
  if (document.execCommand("insertText", false, text)) return
  area.setRangeText(text, area.selectionStart, area.selectionEnd, "end")
  area.dispatchEvent(new InputEvent("input", { bubbles: true }))
}
