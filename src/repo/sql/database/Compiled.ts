import type { SqlClient, Statement } from "@effect/sql"

/** Stands for a value while a statement is compiled. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/**
 * A statement whose text is made once, at its first use, for whatever values are given: putting together the text of those
 * that every run needs takes as long as all else that is done for them here. `value` names where each of them belongs.
 */
export const compiled = <A extends object, Name extends string>(
  sql: SqlClient.SqlClient,
  build: (value: (name: Name) => Statement.Fragment) => Statement.Statement<A>
): ((values: { readonly [N in Name]: unknown }) => Statement.Statement<A>) => {
  let made: readonly [text: string, parameters: ReadonlyArray<unknown>] | undefined
  return (values) => {
    made ??= build((name) => sql`${new Placeholder(name)}`).compile()
    const [text, parameters] = made
    return sql.unsafe<A>(
      text,
      parameters.map((parameter) => (parameter instanceof Placeholder ? values[parameter.name as Name] : parameter))
    )
  }
}
