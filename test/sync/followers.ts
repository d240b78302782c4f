/** Clients of all kinds that keep a copy of all that their tokens are authorised for. */
import { patient, type Resumption, readWhole } from './clients.ts'
import { type Ask, type Instance, type List, lists, transports } from './lists.ts'
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

const tenantList = lists.find(({ name }) => name === 'tenants')!

/** Returns how a list is read over a transport, each time from another instance. REST has no removals. */
export const askThrough =
  (apps: readonly Instance[], transport: ClientKind['transport'], secret: string) => (list: List, tenant: number) => {
    const able = list.path || transport === 'v1 alone' ? transport : 'GraphQL'
    const asks = apps.map(app => patient(transports[able](app, secret, list, tenant)))
    let asked = 0
    const ask: Ask = (since, cursor) => asks[asked++ % asks.length]!(since, cursor)
    return ask
  }

/**
 * Creates a client by the recipe.
 *
 * @param secret of a token for its scope
 * @returns the pass that it repeats, and its outcomes
 */
export function createFollower(kind: ClientKind, apps: readonly Instance[], secret: string) {
  const askFor = askThrough(apps, kind.transport, secret)
  const client = createRecipeClient(askFor, kind.resumption)
  return {
    pass: client.round,
    async outcomes(wholeOf: ReturnType<typeof createWholes>): Promise<Outcome[]> {
      const scope = await readWhole(askFor(tenantList, 0))
      const outcomes = await outcomesOf(Object.values(kind).join(', '), client, scope, wholeOf)
      if (kind.transport !== 'v1 alone') return outcomes
      // What left a list is found by full passes, which such a client makes now and then.
      return outcomes.map(outcome => ({
        ...outcome,
        tooMuch: 0,
        examples: outcome.missing > 0 ? outcome.examples : [],
      }))
    },
  }
}
