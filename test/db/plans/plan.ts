import type { Pool } from '../../../src/db/sql.ts'
import { connect, serviceRole } from '../../support/connect.ts'
import type { TestDatabase } from '../../support/database.ts'

export interface Step {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Step[]
}

/** Returns a step and all steps below it. */
export const stepsOf = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)]

/** Returns the number of rows that a step read. */
export const rowsOf = (step: Step) =>
  Math.round((step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops'])

export interface Plan {
  /** The name in the statement's leading comment; null for a statement inside a function. */
  name: string | null
  text: string
  root: Step
}

export const namesIn = (text: string): string[] =>
  [...text.matchAll(/\/\* ([a-z_]+\.[a-z_]+) \*\//g)].map(([, name = '']) => name)

/**
 * Creates a pool with the settings of the service. The server reports the plan and the row counts of each statement
 * that runs in this pool.
 *
 * @param kind the plans that the server must use: a generic plan fits all parameters, and a custom plan fits the
 *   parameters of one execution. By default the server prefers a generic plan that costs no more than the custom plans
 */
export async function createPlanReader({ platform, address }: TestDatabase, kind: 'generic' | 'custom') {
  const plans: Plan[] = []
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_format': 'json',
    plan_cache_mode: `force_${kind}_plan`,
    client_min_messages: 'log',
    log_min_messages: 'fatal',
  }
  for (const [name, value] of Object.entries(settings)) {
    await platform.unsafe(`alter database ${address.database} set ${name} = '${value}'`)
  }
  const pool: Pool = connect(address, {
    max: 4,
    statementTimeoutMs: 10_000,
    role: serviceRole,
    onNotice: message => {
      if (!/^duration: .* plan:/.test(message)) return
      const { 'Query Text': text, Plan: root } = JSON.parse(message.replace(/^[^{]*/, ''))
      // A plan without row counts is from a statement that did not run.
      if ('Actual Rows' in root) plans.push({ name: namesIn(text)[0] ?? null, text, root })
    },
  })
  return {
    pool,
    async during(work: () => Promise<unknown>): Promise<Plan[]> {
      plans.length = 0
      await work()
      return [...plans]
    },
  }
}

export type PlanReader = Awaited<ReturnType<typeof createPlanReader>>
