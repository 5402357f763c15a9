import { useSearchParams } from "wouter"

/** The filters of a page, kept in its address so that they can be shared and gone back to. */
export const useAddress = () => {
  const [search, setSearch] = useSearchParams()
  return {
    get: (name: string): string => search.get(name) ?? "",
    /** Empty values leave the address; typing replaces the entry in the history, choosing adds one. */
    set: (values: Record<string, string>, options: { readonly replace?: boolean } = {}): void =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before)
          for (const [name, value] of Object.entries(values)) {
            if (value === "") after.delete(name)
            else after.set(name, value)
          }
          return after
        },
        { replace: options.replace ?? false }
      )
  }
}
