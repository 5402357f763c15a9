/** An example to copy. */
export interface Snippet {
  readonly id: string
  readonly title: string
  /** What to know before using it. */
  readonly hint?: string
  readonly text: string
}
