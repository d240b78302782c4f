/** Reads what belongs to records, for many records in one statement. */
import DataLoader from 'dataloader'
import type { Context } from './context.ts'
import { offerBatch } from './direct-resolver.ts'

/** Reads the children of each parent, in the order of the parents. */
type ReadChildren<Parent, Child> = (parents: readonly Parent[]) => Promise<Child[][]>

/**
 * The children of one kind that a request reads: for parents one by one, or for whole lists of them. All that is asked
 * for in one turn is read together; what was read one by one is not known to the lists.
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

/** Reads for all lists at once, and once for a parent that stands in several. */
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
