import { Component, type ReactNode } from "react"
import { Button } from "../components/Button.tsx"
import { Notice } from "../components/Notice.tsx"

/** The router's events for followed links, even to the current address. */
const navigations = ["pushState", "replaceState", "popstate"]

/**
 * Replaces a page that failed to render, until the next navigation. The usual cause is code that could not be loaded: the
 * connection was lost, or the server was updated.
 */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: undefined as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  readonly retry = () => {
    if (this.state.error !== undefined) this.setState({ error: undefined })
  }

  override componentDidMount() {
    for (const event of navigations) window.addEventListener(event, this.retry)
  }

  override componentWillUnmount() {
    for (const event of navigations) window.removeEventListener(event, this.retry)
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <Notice tone="danger">
        <div className="row between">
          <p>
            This page could not be shown. The connection was lost, or the server has been updated since you opened it.
          </p>
          <div className="row">
            <Button compact onPress={this.retry}>
              Try again
            </Button>
            <Button compact onPress={() => location.reload()}>
              Reload
            </Button>
          </div>
        </div>
      </Notice>
    )
  }
}
