/** Compares the copies of clients with the tables. */
import type postgres from '#postgres'
import { type ClientCounts, lostFrom, type SyncClient, surplusOf } from './clients.ts'
import { type CopiedRecord, type List, readScope } from './lists.ts'
import { type RecipeClient, recordLists } from './recipe.ts'

/** The differences of a client's copy, in one list or in those of several tenants. */
export interface Outcome {
  client: string
  list: string
  /** The number of records that the tables hold. */
  records: number
  /** The records that the copy lacks or has in an old state. */
  missing: CopiedRecord[]
  /** The number of records of the copy that no longer exist; null for a client that does not read removals. */
  tooMuch: number | null
  /** Null when another row of the report has the client's counts. */
  counts: ClientCounts | null
  examples: string[]
}

/** Reads the expected content of copies, once for all clients. Created after all writers have stopped. */
export function createTruths(sql: postgres.Sql, root: number) {
  const known = new Map<string, Promise<CopiedRecord[]>>()
  const once = (key: string, read: () => Promise<CopiedRecord[]>) => {
    const reading = known.get(key) ?? read()
    known.set(key, reading)
    return reading
  }
  return {
    list: (list: List, tenant: number) => once(`${list.name} ${tenant}`, () => list.truth(sql, tenant, root)),
    /** The tenants that a token is authorised for. */
    scope: (token: number) => once(`token ${token}`, () => readScope(sql, token)),
  }
}
export type Truths = ReturnType<typeof createTruths>

const mostExamples = 3

/** Compares a copy with the truth, and adds the differences to an outcome. */
function compare(
  outcome: Outcome,
  where: string,
  copy: ReadonlyMap<string, CopiedRecord>,
  truth: readonly CopiedRecord[],
): void {
  const missing = lostFrom(copy, truth)
  outcome.records += truth.length
  outcome.missing.push(...missing)
  const surplus = outcome.tooMuch === null ? [] : surplusOf(copy, truth)
  if (outcome.tooMuch !== null) outcome.tooMuch += surplus.length
  outcome.examples.push(
    ...missing.map(({ key, image }) => `${where} ${key}: ${image}, the copy has ${copy.get(key)?.image ?? 'nothing'}`),
    ...surplus.map(({ key, image }) => `${where} ${key}: absent, the copy has ${image}`),
  )
  outcome.examples.length = Math.min(mostExamples, outcome.examples.length)
}

const emptyOutcome = (client: string, list: string, removals: boolean): Outcome => ({
  client,
  list,
  records: 0,
  missing: [],
  tooMuch: removals ? 0 : null,
  counts: null,
  examples: [],
})

export interface FollowedList {
  list: List
  tenant: number
  client: SyncClient
}

/** @returns the outcome for each list, of all tenants together */
export async function outcomesOfLists(name: string, followed: FollowedList[], truths: Truths): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const list of new Set(followed.map(({ list }) => list))) {
    const counts = { passes: 0, received: 0, repeated: 0 }
    const outcome: Outcome = { ...emptyOutcome(name, list.name, false), counts }
    for (const { tenant, client } of followed.filter(other => other.list === list)) {
      compare(outcome, `tenant ${tenant}`, client.copy, await truths.list(list, tenant))
      for (const count of ['passes', 'received', 'repeated'] as const) counts[count] += client.counts[count]
    }
    outcomes.push(outcome)
  }
  return outcomes
}

/** @returns the outcomes of a client of the recipe: the tenants of its token, and each of their lists */
export async function outcomesOfRecipe(
  name: string,
  { copy, counts }: RecipeClient,
  token: number,
  truths: Truths,
): Promise<Outcome[]> {
  const tenants: Outcome = { ...emptyOutcome(name, 'tenants', true), counts }
  const scope = await truths.scope(token)
  compare(tenants, 'tenant', new Map([...copy].map(([key, { record }]) => [key, record])), scope)
  const outcomes = [tenants]
  for (const list of recordLists) {
    const outcome = emptyOutcome(name, list.name, true)
    for (const key of new Set([...copy.keys(), ...scope.map(tenant => tenant.key)])) {
      const records =
        copy.get(key)?.lists.find(copied => copied.list === list)?.records ?? new Map<string, CopiedRecord>()
      const truth = scope.some(tenant => tenant.key === key) ? await truths.list(list, Number(key)) : []
      compare(outcome, `tenant ${key}`, records, truth)
    }
    outcomes.push(outcome)
  }
  return outcomes
}
