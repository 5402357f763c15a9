import { Component, type ReactNode } from "react"
import { Button } from "../components/Button.tsx"
import { Notice } from "../components/Notice.tsx"

/** Shown in place of a page that failed to render; most often a newer server no longer has the code of the old page. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: undefined as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <Notice tone="danger">
        <div className="row between">
          <p>This page could not be shown. The server may have been updated since you opened it.</p>
          <Button compact onPress={() => location.reload()}>
            Reload
          </Button>
        </div>
      </Notice>
    )
  }
}
