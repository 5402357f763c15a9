import { useSearchParams } from "wouter"

/** A page's filters, stored in the address for bookmarks, links and the back button. */
export const useUrlFilters = () => {
  const [search, setSearch] = useSearchParams()
  return {
    get: (name: string): string => search.get(name) ?? "",
    /** Removes empty values. With `replace`, as for typing, it adds no history entry. */
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
