import type { Sql } from '../sql.ts'

/** Reads several items in one statement; the results are in the order of the items. */
type ReadItems<Item, Result, Via> = (sql: Via, items: readonly Item[]) => Promise<readonly Result[]>

/** An item that waits until the current turn of the event loop ends. */
interface WaitingItem<Item, Result, Via> {
  sql: Via
  item: Item
  resolve: (result: Result | PromiseLike<Result>) => void
}

/**
 * Shares statements between requests: one statement reads all items that are requested in one turn of the event loop.
 * The `sql` of the first request sends it. When the statement fails, or that request's caller is gone, a statement per
 * item reads the items again, so that a request gets only the errors of its own item.
 *
 * @param read reads the items; its result for an item must not depend on the other items, or on the request
 * @param maxItems the maximum number of items of one statement. Choose a lower number for items with many rows, because
 * one server process reads all of them
 * @returns a function that reads one item; only calls with the same `group` share statements
 */
export function shareStatements<Item, Result, Via = Sql>(read: ReadItems<Item, Result, Via>, maxItems = 8) {
  const waitingOf = new WeakMap<object, WaitingItem<Item, Result, Via>[]>()

  const readAlone = async ({ sql, item }: WaitingItem<Item, Result, Via>): Promise<Result> => {
    const [result] = await read(sql, [item])
    return result as Result
  }

  async function readTogether(waiting: readonly WaitingItem<Item, Result, Via>[]): Promise<void> {
    const [first, second] = waiting
    if (!first) return
    if (!second) return first.resolve(readAlone(first))
    const items = waiting.map(({ item }) => item)
    const results = await read(first.sql, items).catch(() => null)
    for (const [index, one] of waiting.entries()) one.resolve(results ? results[index]! : readAlone(one))
  }

  function send(group: object): void {
    const waiting = waitingOf.get(group) ?? []
    waitingOf.delete(group)
    for (let at = 0; at < waiting.length; at += maxItems) void readTogether(waiting.slice(at, at + maxItems))
  }

  return (group: object, sql: Via, item: Item): Promise<Result> =>
    new Promise(resolve => {
      const waiting = waitingOf.get(group)
      if (waiting) waiting.push({ sql, item, resolve })
      else {
        waitingOf.set(group, [{ sql, item, resolve }])
        setImmediate(send, group)
      }
    })
}
