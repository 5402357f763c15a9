import { useState } from "react"
import { Button } from "../components/Button.tsx"

const themes = ["system", "light", "dark"] as const
type Theme = (typeof themes)[number]

const key = "webhook-trigger-theme"

const storedTheme = (): Theme => {
  try {
    return themes.find((theme) => theme === localStorage.getItem(key)) ?? "system"
  } catch {
    return "system"
  }
}

export const applyTheme = (theme: Theme = storedTheme()): void => {
  if (theme === "system") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export const ThemeButton = () => {
  const [theme, setTheme] = useState(storedTheme)
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!
  return (
    <Button
      variant="quiet"
      icon={theme === "system" ? "half" : theme === "light" ? "sun" : "moon"}
      label={`Theme: ${theme}. Change to ${next}`}
      onPress={() => {
        try {
          localStorage.setItem(key, next)
        } catch {
          // Without storage the choice lasts until the page is closed.
        }
        applyTheme(next)
        setTheme(next)
      }}
    />
  )
}
