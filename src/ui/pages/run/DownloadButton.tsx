import { Button } from "../../components/Button.tsx"

/** Saves text as a file. */
export const DownloadButton = ({
  text,
  file,
  children
}: {
  readonly text: string
  readonly file: string
  readonly children: string
}) => {
  const download = () => {
    const url = URL.createObjectURL(new Blob([text], { type: "text/markdown;charset=utf-8" }))
    const link = document.createElement("a")
    link.href = url
    link.download = file
    link.click()
    URL.revokeObjectURL(url)
  }
  return <Button onPress={download}>{children}</Button>
}
