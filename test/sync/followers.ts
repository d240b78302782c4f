/** Clients of all kinds that keep a copy of all that their tokens are authorised for. */
import { type Resumption, readWhole, withRetries } from './clients.ts'
import { type Ask, type Instance, type ListName, transports } from './lists.ts'
import { type createWholes, type Outcome, outcomesOf } from './outcome.ts'
import { createRecipeClient } from './recipe.ts'

export interface ClientKind {
  scope: 'root' | 'branch' | 'single tenants'
  transport: keyof typeof transports
  resumption: Resumption
}

/** The clients; a run with fewer takes the first ones. */
export const clientKinds: ClientKind[] = [
  { scope: 'root', transport: 'v1 alone', resumption: 'last page' },
  { scope: 'root', transport: 'REST', resumption: 'first page' },
  { scope: 'root', transport: 'export', resumption: 'last page' },
  { scope: 'branch', transport: 'GraphQL', resumption: 'last page' },
  { scope: 'single tenants', transport: 'GraphQL', resumption: 'first page' },
  { scope: 'root', transport: 'REST', resumption: 'newest record' },
  { scope: 'root', transport: 'GraphQL', resumption: 'newest record' },
  { scope: 'branch', transport: 'REST', resumption: 'last page' },
]

/** Returns how a list is read over a transport, each page from another instance. */
export const askThrough =
  (instances: readonly Instance[], transport: ClientKind['transport'], secret: string) =>
  (list: ListName, tenant: number) => {
    const asks = instances.map(instance => withRetries(transports[transport](instance, secret, list, tenant)))
    let asked = 0
    const ask: Ask = (since, cursor) => asks[asked++ % asks.length]!(since, cursor)
    return ask
  }

/**
 * Creates a client that follows the recipe of docs/guides/keeping-in-step.md.
 *
 * @param secret of a token for its scope
 * @returns the pass that it repeats, and its outcomes
 */
export function createFollower(kind: ClientKind, instances: readonly Instance[], secret: string) {
  const askFor = askThrough(instances, kind.transport, secret)
  const client = createRecipeClient(askFor, kind.resumption)
  return {
    pass: client.round,
    async outcomes(wholeOf: ReturnType<typeof createWholes>): Promise<Outcome[]> {
      const scope = await readWhole(askFor('tenants', 0))
      const outcomes = await outcomesOf(Object.values(kind).join(', '), client.copy, scope, wholeOf)
      if (kind.transport !== 'v1 alone') return outcomes
      // Such a client finds the records that left a list by full passes, which it makes from time to time.
      return outcomes.map(of => ({ ...of, tooMuch: 0, examples: of.missing > 0 ? of.examples : [] }))
    },
  }
}
