import DataLoader from 'dataloader'
import type { Context } from './context.ts'

/** Reads what lies below records: for each, in order. */
type ReadChildren<Parent, Child> = (parents: readonly Parent[]) => Promise<Child[][]>

/**
 * What lies below records: gathered from all fields that ask for one at the time, or read for a whole list at once.
 * Each is read once a request; what was read in one way is not known in the other.
 */
export class BatchChildren<Parent extends { id: number }, Child> {
  readonly #read: ReadChildren<Parent, Child>
  readonly #one: DataLoader<Parent, Child[], number>
  readonly #lists = new WeakMap<readonly Parent[], Promise<Child[][]>>()

  constructor(read: ReadChildren<Parent, Child>) {
    this.#read = read
    this.#one = new DataLoader(read, { cacheKeyFn: ({ id }) => id })
  }

  of(parent: Parent): Promise<Child[]> {
    return this.#one.load(parent)
  }

  /** @param parents the list itself, by which it is known again */
  ofAll(parents: readonly Parent[]): Promise<Child[][]> {
    const known = this.#lists.get(parents) ?? this.#read(parents)
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
  of: (context: Context) => BatchChildren<Parent, Child>,
  derive: (children: Child[]) => Value,
) => ({
  resolve: async (parent: Parent, _args: object, context: Context) => derive(await of(context).of(parent)),
  extensions: {
    resolveBatch: async (parents: readonly Parent[], context: Context) =>
      (await of(context).ofAll(parents)).map(derive),
  },
})

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Reads the field for many parents at once: for each what its resolver would say. */
    resolveBatch?(parents: readonly unknown[], context: Context): Promise<readonly unknown[]>
    /** Whether a plugin is put before the field's own resolver. */
    pothosResolveWrapped?: boolean
  }
}
