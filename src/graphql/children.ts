import DataLoader from 'dataloader'
import type { RecordSql } from '../db/sql.ts'
import { shareStatements } from '../db/statement/shared-statement.ts'
import type { Context } from './context.ts'
import { offerBatch } from './direct-resolver.ts'
import type { Reader } from './loaders.ts'

/** Reads the children of each parent, in the order of the parents. */
type ReadChildren<Parent, Child> = (parents: readonly Parent[]) => Promise<Child[][]>

/**
 * Loads the children for lists of parents, in one statement per turn of the event loop. An array of parents that is
 * requested twice is read once.
 */
type ChildLoader<Parent, Child> = DataLoader<readonly Parent[], Child[][]>

/** Reads the children of all lists in one call; a parent that occurs several times is read once. */
export async function readLists<Parent extends { id: number }, Child>(
  read: ReadChildren<Parent, Child>,
  lists: readonly (readonly Parent[])[],
): Promise<Child[][][]> {
  const all = lists.flat()
  const parents = new Map(all.map(parent => [parent.id, parent]))
  if (lists.length === 1 && parents.size === all.length) return [await read(all)]
  const children = await read([...parents.values()])
  const byParent = new Map([...parents.keys()].map((id, index) => [id, children[index] ?? []]))
  return lists.map(list => list.map(({ id }) => byParent.get(id) ?? []))
}

/** The maximum number of lists of parents that share a statement. */
const maxShared = 4

/** Defines the loader of children. Requests share its statements. */
export function defineChildLoader<Parent extends { id: number; tenantId: number }, Child>(
  read: (sql: RecordSql, parents: readonly Parent[]) => Promise<Child[][]>,
) {
  const readShared = shareStatements(
    (sql: RecordSql, lists: readonly (readonly Parent[])[]) =>
      isReadAtTwoTenants(lists.flat())
        ? Promise.all(lists.map(list => read(sql, list)))
        : readLists(parents => read(sql, parents), lists),
    maxShared,
  )
  return ({ records, group }: Pick<Reader, 'records' | 'group'>): ChildLoader<Parent, Child> =>
    new DataLoader(lists => readLists(parents => readShared(group, records, parents), lists))
}

/**
 * Returns whether the same parent was read through two tenants. Then the requests must not share a result, because each
 * may see only the children of its own tenant.
 */
function isReadAtTwoTenants(parents: readonly { id: number; tenantId: number }[]): boolean {
  const tenants = new Map<number, number>()
  return parents.some(({ id, tenantId }) => {
    const known = tenants.get(id)
    tenants.set(id, tenantId)
    return known !== undefined && known !== tenantId
  })
}

/**
 * Returns the resolver of a field that is derived from the children of its parent. The executor may call it once for a
 * whole level.
 *
 * @param derive returns the value of the field from the children of a parent
 */
export function createChildResolver<Parent extends { id: number }, Child, Value>(
  loader: (reader: Reader) => ChildLoader<Parent, Child>,
  derive: (children: Child[]) => Value,
) {
  const resolve = async (parent: Parent, _args: object, { loaders }: Context) => {
    const [children = []] = await loaders.get(loader).load([parent])
    return derive(children)
  }
  offerBatch(resolve, async (parents: readonly Parent[], { loaders }: Context) =>
    (await loaders.get(loader).load(parents)).map(derive),
  )
  return { resolve }
}
