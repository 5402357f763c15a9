/** An example to copy. */
export interface Snippet {
  readonly id: string
  readonly title: string
  readonly hint?: string
  readonly text: string
}
