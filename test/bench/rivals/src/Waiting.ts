/** Callers that wait for the end of a run. */
const timeout = 300_000

const waiting = new Map<string, (response: string) => void>()

export const waitFor = (id: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.delete(id)
      reject(new Error("timeout"))
    }, timeout)
    waiting.set(id, (response) => {
      clearTimeout(timer)
      resolve(response)
    })
  })

export const settle = (id: string, response: string): void => {
  waiting.get(id)?.(response)
  waiting.delete(id)
}
