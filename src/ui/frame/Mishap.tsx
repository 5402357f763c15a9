import { Component, type ReactNode } from "react"
import { Button } from "../components/Button.tsx"
import { Note } from "../components/Note.tsx"

/** Shows that a page could not be drawn, and the way on; most often a newer server no longer has the page's old code. */
export class Mishap extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: undefined as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <Note kind="error">
        <div className="row between">
          <p>This page could not be shown. The server may have been updated since you opened it.</p>
          <Button compact onPress={() => location.reload()}>
            Load it anew
          </Button>
        </div>
      </Note>
    )
  }
}
