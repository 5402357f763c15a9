interface Item<A, B> {
  readonly value: A
  readonly resolve: (result: B) => void
  readonly reject: (error: unknown) => void
}

/** One call of `act` at a time, with all values that have arrived since the previous one. */
export const inGroups = <A, B>(
  act: (values: ReadonlyArray<A>) => Promise<ReadonlyArray<B>>
): ((value: A) => Promise<B>) => {
  let waiting: Array<Item<A, B>> = []
  let busy = false
  const work = async () => {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        const results = await act(group.map(({ value }) => value))
        group.forEach(({ resolve }, n) => resolve(results[n]!))
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    busy = false
  }
  return (value) =>
    new Promise((resolve, reject) => {
      waiting.push({ value, resolve, reject })
      if (busy) return
      busy = true
      setImmediate(work)
    })
}
