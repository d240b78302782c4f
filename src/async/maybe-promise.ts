/**
 * Most steps of a request have their result immediately. Waiting for a promise at each step would cost much time, so
 * these functions wait only for promises.
 */

/** Calls `go` with the value: immediately, or when the promise is fulfilled. Throws when an immediate `go` throws. */
export const mapMaybePromise = <Value, Next>(
  value: Value | Promise<Value>,
  go: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> => (value instanceof Promise ? value.then(go) : go(value))

/** Calls `ask` for each item. When a call throws, waits for the calls before it, then rejects with that error. */
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
  // `Promise.all` takes several times as long as one promise.
  return values.length === 1 && first instanceof Promise ? first.then(value => [value]) : Promise.all(values)
}

const hasNoPromise = <Value>(values: readonly (Value | Promise<Value>)[]): values is readonly Value[] =>
  !values.some(value => value instanceof Promise)
