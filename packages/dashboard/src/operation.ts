/** An operation of the dashboard, which is a trusted document, with the types of its answer and of its variables. */
export interface Operation<Data, Variables> {
  name: string
  /** `sha256:` and the SHA-256 of the document's text. */
  id: string
  readonly __types?: (variables: Variables) => Data
}

/** Returns an operation with the id of its document. The calls, with their types, are generated in `operations.ts`. */
export const operation = <Data, Variables>(name: string, id: string): Operation<Data, Variables> => ({ name, id })
