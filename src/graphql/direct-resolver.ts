/**
 * The resolvers that the executor may replace by a faster read with the same result. Only the policy plugin marks a
 * resolver. The mark belongs to the function: when a plugin later wraps the resolver of a field, the new function has
 * no mark.
 */
/** Reads a field for many parents in one call, and returns the results of the field's resolver in their order. */
export type ResolveBatch = (parents: readonly never[], context: never) => Promise<readonly unknown[]>

/**
 * The mark of a resolver says how to get its result: from a property of the parent, from a column when the parent is a
 * row (for other parents the resolver must be called), or from `resolveBatch`.
 */
type DirectResolver =
  | { kind: 'property'; name: string }
  | { kind: 'column'; name: string }
  | { kind: 'batch'; resolveBatch: ResolveBatch }

const offered = new WeakMap<object, DirectResolver>()
const directResolvers = new WeakMap<object, DirectResolver>()

/** Declares a function that does the work of a resolver for many parents in one call. */
export function offerBatch(resolver: object, resolveBatch: ResolveBatch): void {
  offered.set(resolver, { kind: 'batch', resolveBatch })
}

/** Declares that a resolver returns a property of each parent that is a row. */
export function offerColumn(resolver: object, name: string): void {
  offered.set(resolver, { kind: 'column', name })
}

/**
 * Marks the resolver of a field without a policy.
 *
 * @param exposed the property that the resolver returns, when it does nothing else; otherwise null
 */
export function markDirectResolver(resolver: object, exposed: string | null): void {
  const direct = offered.get(resolver)
  if (direct) directResolvers.set(resolver, direct)
  else if (exposed !== null) directResolvers.set(resolver, { kind: 'property', name: exposed })
}

/** Returns the mark of the resolver; undefined when it has no mark, so that it must be called. */
export const directResolverOf = (resolver: object): DirectResolver | undefined => directResolvers.get(resolver)
