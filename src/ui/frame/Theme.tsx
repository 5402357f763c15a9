import { useState } from "react"
import { Button } from "../components/Button.tsx"

const themes = ["system", "light", "dark"] as const
type Theme = (typeof themes)[number]

const key = "webhook-trigger-theme"

const chosen = (): Theme => {
  try {
    return themes.find((theme) => theme === localStorage.getItem(key)) ?? "system"
  } catch {
    return "system"
  }
}

/** Light or dark as the system says, unless somebody chose here. */
export const applyTheme = (theme: Theme = chosen()): void => {
  if (theme === "system") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export const ThemeButton = () => {
  const [theme, setTheme] = useState(chosen)
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!
  return (
    <Button
      look="quiet"
      icon={theme === "system" ? "half" : theme === "light" ? "sun" : "moon"}
      label={`Theme: ${theme}. Change to ${next}`}
      onPress={() => {
        try {
          localStorage.setItem(key, next)
        } catch {
          // Without storage the choice holds until the page is left.
        }
        applyTheme(next)
        setTheme(next)
      }}
    />
  )
}
