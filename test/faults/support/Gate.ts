/** Something that many wait at until it is opened. */
export class Gate {
  readonly opened: Promise<void>
  open: () => void = () => {}
  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve
    })
  }
}
