/** Inserts text like typing: it replaces the selection and can be undone. */
export const insertText = (area: HTMLTextAreaElement, text: string): void => {
  area.focus()
  // Deprecated, but the only way that supports undo.
  if (document.execCommand("insertText", false, text)) return
  area.setRangeText(text, area.selectionStart, area.selectionEnd, "end")
  area.dispatchEvent(new InputEvent("input", { bubbles: true }))
}
