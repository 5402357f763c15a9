import "./design/tokens.css"
import "./design/base.css"
import "./design/parts.css"
import "./design/frame.css"
import "./design/pages.css"
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
