/** Delays everything that awaits `opened`, until `open` is called. */
export class Gate {
  readonly opened: Promise<void>
  open: () => void = () => {}
  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve
    })
  }
}
