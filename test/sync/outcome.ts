/** What clients end with, beside what the tables hold. */
import type postgres from '#postgres'
import { type ClientCounts, lostFrom, type SyncClient, surplusOf } from './clients.ts'
import { type Kept, type List, lists, readScope } from './lists.ts'
import { type NaiveRecipeClient, type RecipeClient, recordLists } from './recipe.ts'

/** What a client ended with, in one list or in those of several tenants. */
export interface Outcome {
  client: string
  list: string
  /** How many records the tables hold for it. */
  records: number
  /** Those of them that the copy lacks, or has as they no longer are. */
  missing: Kept[]
  /** How many records of the copy are gone; null for a client that does not read removals. */
  tooMuch: number | null
  /** Null where another row of the report has those of the client. */
  counts: ClientCounts | null
  /** Some of the differences, for the search. */
  examples: string[]
}

/** Reads what the tables hold, once for all clients: to be made when all writers are done. */
export function createTruths(sql: postgres.Sql, root: number) {
  const known = new Map<string, Promise<Kept[]>>()
  const once = (key: string, read: () => Promise<Kept[]>) => {
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

/** Compares a copy with the truth, and adds what it finds. */
function compare(outcome: Outcome, where: string, copy: ReadonlyMap<string, Kept>, truth: readonly Kept[]): void {
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

/** A client of one list of one tenant. */
export interface FollowedList {
  list: List
  tenant: number
  client: SyncClient
}

/** @returns for each list what its clients have, whatever their tenants */
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

/** @returns what a client of the recipe has of the tenants of its token, and of all of their lists */
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
      const records = copy.get(key)?.lists.find(copied => copied.list === list)?.records ?? new Map<string, Kept>()
      const truth = scope.some(tenant => tenant.key === key) ? await truths.list(list, Number(key)) : []
      compare(outcome, `tenant ${key}`, records, truth)
    }
    outcomes.push(outcome)
  }
  return outcomes
}

/** @returns what the control of the removals has of some tenants' lists */
export async function outcomesOfNaiveRecipe(
  { copy, counts }: NaiveRecipeClient,
  tenants: readonly number[],
  truths: Truths,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const list of recordLists) {
    const truth = (await Promise.all(tenants.map(tenant => truths.list(list, tenant)))).flat()
    const outcome = emptyOutcome('naive removals', list.name, true)
    if (outcomes.length === 0) outcome.counts = counts
    compare(outcome, 'id', copy.get(list.name) ?? new Map(), truth)
    outcomes.push(outcome)
  }
  return outcomes
}

/** The list of the vouchers, which the control of the stamps reads. */
export const voucherList = lists.find(({ name }) => name === 'vouchers')!
