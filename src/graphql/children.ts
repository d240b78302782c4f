/** Reads what belongs to records, for many records in one statement. */
import DataLoader from 'dataloader'
import type { Context } from './context.ts'
import { offerBatch } from './direct-resolver.ts'

/** Reads the children of each parent, in the order of the parents. */
type ReadChildren<Parent, Child> = (parents: readonly Parent[]) => Promise<Child[][]>

/**
 * Loads the children of one parent or of a list of parents. The calls of one turn share a statement. Children that were
 * loaded for one parent are not reused for lists.
 */
export class BatchChildren<Parent extends { id: number }, Child> {
  readonly #one: DataLoader<Parent, Child[], number>
  readonly #lists: DataLoader<readonly Parent[], Child[][]>

  constructor(read: ReadChildren<Parent, Child>) {
    this.#one = new DataLoader(read, { cacheKeyFn: ({ id }) => id })
    this.#lists = new DataLoader(lists => readLists(read, lists))
  }

  /** Reads the children of one parent. */
  of(parent: Parent): Promise<Child[]> {
    return this.#one.load(parent)
  }

  /** @param parents the list itself: for the same array the children are read once */
  ofAll(parents: readonly Parent[]): Promise<Child[][]> {
    return this.#lists.load(parents)
  }
}

/** Reads the children of all lists in one call; a parent in several lists is read once. */
async function readLists<Parent extends { id: number }, Child>(
  read: ReadChildren<Parent, Child>,
  lists: readonly (readonly Parent[])[],
): Promise<Child[][][]> {
  const [first, ...others] = lists
  if (first && others.length === 0) return [await read(first)]
  const parents = new Map(lists.flat().map(parent => [parent.id, parent]))
  const children = await read([...parents.values()])
  const byParent = new Map([...parents.keys()].map((id, index) => [id, children[index] ?? []]))
  return lists.map(list => list.map(({ id }) => byParent.get(id) ?? []))
}

/**
 * The resolver of a field that is derived from the children of its parent. The executor may read it for a whole level.
 *
 * @param of which children
 * @param derive the field's value from a parent's children
 */
export function childField<Parent extends { id: number }, Child, Value>(
  of: (context: Context) => BatchChildren<Parent, Child>,
  derive: (children: Child[]) => Value,
) {
  const resolve = async (parent: Parent, _args: object, context: Context) => derive(await of(context).of(parent))
  offerBatch(resolve, async (parents: readonly Parent[], context: Context) =>
    (await of(context).ofAll(parents)).map(derive),
  )
  return { resolve }
}
