import DataLoader from 'dataloader'
import type { Context } from './context.ts'

/** Reads what lies below records, by their ids: for each, in order. */
type ReadChildren<Child> = (ids: readonly number[]) => Promise<Child[][]>

/**
 * What lies below records: gathered from all fields that ask for one at the time, or read for a whole list at once.
 * Each is read once a request; what was read in one way is not known in the other.
 */
export class Children<Child> {
  readonly #read: ReadChildren<Child>
  readonly #one: DataLoader<number, Child[]>
  readonly #lists = new WeakMap<readonly object[], Promise<Child[][]>>()

  constructor(read: ReadChildren<Child>) {
    this.#read = read
    this.#one = new DataLoader(read)
  }

  of({ id }: { id: number }): Promise<Child[]> {
    return this.#one.load(id)
  }

  /** @param parents the list itself, by which it is known again */
  ofAll(parents: readonly { id: number }[]): Promise<Child[][]> {
    const known = this.#lists.get(parents) ?? this.#read(parents.map(({ id }) => id))
    this.#lists.set(parents, known)
    return known
  }
}

/**
 * The part of a field's definition that says what it is: something of what lies below its parent.
 *
 * @param of which children
 */
export const childField = <Parent extends { id: number }, Child, Value>(
  of: (context: Context) => Children<Child>,
  derive: (children: Child[]) => Value,
) => ({
  resolve: async (parent: Parent, _args: object, context: Context) => derive(await of(context).of(parent)),
  extensions: {
    ofMany: async (parents: readonly Parent[], context: Context) => (await of(context).ofAll(parents)).map(derive),
  },
})

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Reads the field for many parents at once: for each what its resolver would say. */
    ofMany?(parents: readonly unknown[], context: Context): Promise<readonly unknown[]>
    /** Whether a plugin is put before the field's own resolver. */
    pothosResolveWrapped?: boolean
  }
}
