/**
 * The resolvers that the executor may replace by a faster read with the same result. Only the policy plugin marks one,
 * and the mark belongs to the function: a field whose resolver is wrapped later has another function and no mark.
 */
/** Reads a field for many parents in one call, and returns the results of the field's resolver in their order. */
export type ResolveBatch = (parents: readonly never[], context: never) => Promise<readonly unknown[]>

/**
 * The mark of a resolver. It returns a property of its parent (`column`: only when the parent is a row; otherwise the
 * resolver must be called), or the result of `resolveBatch` for its parent.
 */
type DirectResolver =
  | { kind: 'property'; name: string }
  | { kind: 'column'; name: string }
  | { kind: 'batch'; resolveBatch: ResolveBatch }

const offered = new WeakMap<object, DirectResolver>()
const directResolvers = new WeakMap<object, DirectResolver>()

/** Declares the batch form of a resolver. */
export function offerBatch(resolver: object, resolveBatch: ResolveBatch): void {
  offered.set(resolver, { kind: 'batch', resolveBatch })
}

/** Declares that a resolver returns a property of each parent that is a row. */
export function offerColumn(resolver: object, name: string): void {
  offered.set(resolver, { kind: 'column', name })
}

/** Marks the resolver of a field without a policy. @param exposed the property, for a resolver that only returns one */
export function markDirectResolver(resolver: object, exposed: string | null): void {
  const direct = offered.get(resolver)
  if (direct) directResolvers.set(resolver, direct)
  else if (exposed !== null) directResolvers.set(resolver, { kind: 'property', name: exposed })
}

/** Returns the mark of the resolver; undefined when it has none, and must be called. */
export const directResolverOf = (resolver: object): DirectResolver | undefined => directResolvers.get(resolver)
