import "./design/tokens.css"
import "./design/base.css"
import "./design/buttons.css"
import "./design/fields.css"
import "./design/surfaces.css"
import "./design/overlays.css"
import "./design/frame.css"
import "./design/lists.css"
import "./design/editor.css"
import "./design/tree.css"
import "./design/tabs.css"
import "./design/webhook.css"
import "./design/setup.css"
import "./design/templates.css"
import "./design/runs.css"
import "./design/run.css"
import "./design/threads.css"
import "./design/markdown.css"
import { QueryClientProvider } from "@tanstack/react-query"
import { createRoot } from "react-dom/client"
import { queries } from "./api/Queries.ts"
import { App } from "./frame/App.tsx"
import { applyTheme } from "./frame/Theme.tsx"

applyTheme()
createRoot(document.getElementById("root")!).render(
  <QueryClientProvider client={queries}>
    <App />
  </QueryClientProvider>
)
