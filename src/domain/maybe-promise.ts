/**
 * Much of what a request asks for is there at once. To wait for it all the same, level by level, would be a good part of
 * what a request costs: these wait for what is a promise, and for nothing else.
 */

/** Goes on with the value as soon as it is there; when that is now, it fails at once as `go` does. */
export const mapMaybePromise = <Value, Next>(
  value: Value | Promise<Value>,
  go: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> => (value instanceof Promise ? value.then(go) : go(value))

/** Asks for each item. When asking for one throws, that is what the whole fails with, as soon as nothing is under way. */
export function allMaybePromise<Item, Value>(
  items: readonly Item[],
  ask: (item: Item) => Value | Promise<Value>,
): readonly Value[] | Promise<readonly Value[]> {
  const values: (Value | Promise<Value>)[] = []
  try {
    for (const item of items) values.push(ask(item))
  } catch (error) {
    return Promise.allSettled(values).then(() => {
      throw error
    })
  }
  if (areThere(values)) return values
  const [first] = values
  // Promise.all costs several times what a promise does.
  return values.length === 1 && first instanceof Promise ? first.then(value => [value]) : Promise.all(values)
}

const areThere = <Value>(values: readonly (Value | Promise<Value>)[]): values is readonly Value[] =>
  !values.some(value => value instanceof Promise)
