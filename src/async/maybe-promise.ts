/**
 * Most steps of a request return a value and no promise. To await each step would cost much time, so these functions
 * wait only for promises.
 */

/**
 * Calls `go` with a value immediately, and with the value of a promise when the promise is fulfilled. When `go` throws
 * immediately, this function throws too.
 */
export const mapMaybePromise = <Value, Next>(
  value: Value | Promise<Value>,
  go: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> => (value instanceof Promise ? value.then(go) : go(value))

/**
 * Calls `ask` for each item. When a call throws, waits for the results of the earlier calls, then rejects with that
 * error.
 */
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
  if (hasNoPromise(values)) return values
  const [first] = values
  // A single promise needs no `Promise.all`, which takes several times as long.
  return values.length === 1 && first instanceof Promise ? first.then(value => [value]) : Promise.all(values)
}

const hasNoPromise = <Value>(values: readonly (Value | Promise<Value>)[]): values is readonly Value[] =>
  !values.some(value => value instanceof Promise)
