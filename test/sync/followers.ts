/** Clients of all kinds, which copy all records that their tokens include. */
import { type Resumption, readWhole, withRetries } from './clients.ts'
import { type Ask, type Instance, type ListName, transports } from './lists.ts'
import { type createWholes, type Outcome, outcomesOf } from './outcome.ts'
import { createRecipeClient } from './recipe.ts'

export interface ClientKind {
  scope: 'root' | 'branch' | 'single tenants'
  transport: keyof typeof transports
  resumption: Resumption
}

/** The kinds of clients. A run with fewer clients takes the first kinds. */
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

/** Returns a function that creates readers of lists over a transport. Each page comes from the next instance. */
export const createPageReader =
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
 * @param secret the secret of a token for the scope of the client
 * @returns the pass that the client repeats, and a function that compares its copy
 */
export function createFollower(kind: ClientKind, instances: readonly Instance[], secret: string) {
  const askFor = createPageReader(instances, kind.transport, secret)
  const client = createRecipeClient(askFor, kind.resumption)
  return {
    pass: client.round,
    async outcomes(wholeOf: ReturnType<typeof createWholes>): Promise<Outcome[]> {
      const scope = await readWhole(askFor('tenants', 0))
      const outcomes = await outcomesOf(Object.values(kind).join(', '), client.copy, scope, wholeOf)
      if (kind.transport !== 'v1 alone') return outcomes
      // A client of v1 alone finds the records that left a list only by full passes, which these tests do not make.
      return outcomes.map(of => ({ ...of, tooMuch: 0, examples: of.missing > 0 ? of.examples : [] }))
    },
  }
}
