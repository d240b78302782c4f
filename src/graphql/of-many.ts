import type { Context } from './context.ts'

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Reads the field for many parents at once: for each what its resolver would say. */
    ofMany?(parents: readonly unknown[], context: Context): Promise<readonly unknown[]>
    /** Whether a plugin is put before the field's own resolver. */
    pothosResolveWrapped?: boolean
  }
}
