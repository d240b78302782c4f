/** Compares the copies of clients with the whole lists. */
import { tenantListNames } from '../../packages/client/src/index.ts'
import { type CopiedTenant, readWhole } from './clients.ts'
import type { Ask, CopiedRecord, ListName } from './lists.ts'

/** The differences of a copy in the lists of one kind, for all tenants of the client. */
export interface Outcome {
  client: string
  list: string
  records: number
  /** The number of records that are missing or outdated in the copy. */
  missing: number
  /** The number of records of the copy that no longer exist. */
  tooMuch: number
  examples: string[]
}

/** Creates a function that reads whole lists, each once for all clients. Call it after all writers have stopped. */
export function createWholes(askFor: (list: ListName, tenant: number) => Ask) {
  const known = new Map<string, Promise<CopiedRecord[]>>()
  return (list: ListName, tenant: number): Promise<CopiedRecord[]> => {
    const key = `${list} ${tenant}`
    const reading = known.get(key) ?? readWhole(askFor(list, tenant))
    known.set(key, reading)
    return reading
  }
}

const maxExamples = 3

/** Compares a copy with the whole list, and adds the differences to an outcome. */
function compare(
  outcome: Outcome,
  where: string,
  copy: ReadonlyMap<string, CopiedRecord>,
  whole: readonly CopiedRecord[],
): void {
  const images = new Map(whole.map(({ key, image }) => [key, image]))
  const missing = whole.filter(({ key, image }) => copy.get(key)?.image !== image)
  const surplus = [...copy.values()].filter(({ key }) => !images.has(key))
  outcome.records += whole.length
  outcome.missing += missing.length
  outcome.tooMuch += surplus.length
  for (const { key } of [...missing, ...surplus]) {
    const [held, listed] = [copy.get(key)?.image ?? 'nothing', images.get(key) ?? 'absent']
    outcome.examples.push(`${where} ${key}: ${listed}, the copy has ${held}`)
  }
  outcome.examples.length = Math.min(maxExamples, outcome.examples.length)
}

/**
 * @param scope the tenants that the token of the client includes
 * @returns the outcomes of a client for the list of tenants and for each list of tenants
 */
export async function outcomesOf(
  name: string,
  copy: ReadonlyMap<string, CopiedTenant>,
  scope: readonly CopiedRecord[],
  wholeOf: ReturnType<typeof createWholes>,
): Promise<Outcome[]> {
  const outcomes = ['tenants', ...tenantListNames].map(
    (list): Outcome => ({ client: name, list, records: 0, missing: 0, tooMuch: 0, examples: [] }),
  )
  const [tenants, ...ofLists] = outcomes
  compare(tenants!, 'tenant', new Map([...copy].map(([key, { record }]) => [key, record])), scope)
  for (const [at, list] of tenantListNames.entries()) {
    for (const key of new Set([...copy.keys(), ...scope.map(tenant => tenant.key)])) {
      const records = copy.get(key)?.lists.get(list)?.copy ?? new Map()
      const whole = scope.some(tenant => tenant.key === key) ? await wholeOf(list, Number(key)) : []
      compare(ofLists[at]!, `tenant ${key}`, records, whole)
    }
  }
  return outcomes
}
