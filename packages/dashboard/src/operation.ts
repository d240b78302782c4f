/** An operation of the dashboard, which is a trusted document, with the types of its answer and of its variables. */
export interface Operation<Data, Variables> {
  name: string
  /** `sha256:` and the SHA-256 of its text. */
  id: string
  readonly __types?: (variables: Variables) => Data
}

/** Names an operation by the id of its document. The types are generated in the same folder. */
export const operation = <Data, Variables>(name: string, id: string): Operation<Data, Variables> => ({ name, id })
