import type { Person } from "./Person.ts"

/** For people: the name, else the address, else the ID. Apart from `Schema`: the web UI loads it, too. */
export const personName = ({ email, id, name }: Pick<Person, "email" | "id" | "name">): string => name ?? email ?? id
