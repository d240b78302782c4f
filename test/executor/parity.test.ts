import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { execute, getOperationAST, parse, validate } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OperationPlan } from '../../src/executor/plan.ts'
import { DocumentMaker, type GeneratedDocument } from '../support/document-maker.ts'
import { createErrorFinder } from '../support/possible-errors.ts'
import { argumentValues, generatedSchema, type World } from './generated-schema.ts'

/** `PARITY_DOCUMENTS=100000` for a long run. */
const documents = Number(process.env.PARITY_DOCUMENTS ?? 1000)

const findPossibleErrors = createErrorFinder(generatedSchema)

/** Rejections that nothing handled. graphql-js has some: a list that fails at once leaves the items that fail later. */
const unhandled: unknown[] = []
const collect = (error: unknown) => unhandled.push(error)
const listeners = process.listeners('unhandledRejection')

beforeAll(() => {
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', collect)
})

afterAll(async () => {
  await setImmediate()
  process.off('unhandledRejection', collect)
  for (const listener of listeners) process.on('unhandledRejection', listener)
})

/** Runs an operation and sees that each rejection is handled. */
async function run(plan: OperationPlan, variables: Record<string, unknown>, context: World) {
  await setImmediate()
  unhandled.length = 0
  const bound = plan.bind(variables)
  const outcome = bound?.isPlanned ? await bound.run(context) : null
  await setImmediate()
  expect(unhandled).toEqual([])
  return outcome
}

/** The variables with other values for `@skip` and `@include`. */
const inverted = (variables: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, typeof value === 'boolean' ? !value : value]),
  )

/** The same, without what follows itself. */
const changes = (log: readonly (string | number)[]) => log.filter((key, index) => key !== log[index - 1])

/** @returns how the document was run, after comparing both ways */
async function compare(
  { query, variables }: GeneratedDocument,
  behaviour: { seed: number; trouble: number },
): Promise<'left to graphql-js' | 'without errors' | 'with errors'> {
  const document = parse(query)
  const world = (): World => ({ ...behaviour, log: [] })
  const [ours, theirs] = [world(), world()]
  const plan = new OperationPlan(generatedSchema, document, getOperationAST(document)!)
  // The same plan runs with other variables before, and may keep nothing of them.
  await run(plan, inverted(variables), world())
  const actual = await run(plan, variables, ours)
  if (!actual) {
    expect(ours.log).toEqual([])
    return 'left to graphql-js'
  }
  const args = { document, variableValues: variables }
  const { data, errors = [] } = await execute({ ...args, schema: generatedSchema, contextValue: theirs })
  expect(actual.data.toString()).toBe(JSON.stringify(data))
  // One root field after the other: graphql-js may begin the next while the last still fails.
  if (query.startsWith('mutation')) expect(changes(ours.log)).toEqual([...new Set(theirs.log)])
  if (errors.length === 0 && actual.errors.length === 0) return 'without errors'
  const possible = await findPossibleErrors({ ...args, contextValue: world() })
  expect(possible.check(data, errors), 'graphql-js').toBeNull()
  expect(possible.check(data, actual.errors), 'the executor').toBeNull()
  return 'with errors'
}

test('generated documents and resolvers give the same data and errors as with graphql-js', async () => {
  const count = { 'left to graphql-js': 0, 'without errors': 0, 'with errors': 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.gen(),
      fc.record({ seed: fc.integer(), trouble: fc.constantFrom(0, 3, 10, 30) }),
      fc.constantFrom('query', 'mutation'),
      async (draw, behaviour, operation) => {
        const generated = new DocumentMaker(draw, generatedSchema, { values: argumentValues, depth: 3 }).make(operation)
        fc.pre(validate(generatedSchema, parse(generated.query)).length === 0)
        try {
          count[await compare(generated, behaviour)]++
        } catch (error) {
          throw new Error(`${generated.query}\n${JSON.stringify(generated.variables)}`, { cause: error })
        }
      },
    ),
    { numRuns: documents },
  )
  expect(count['left to graphql-js']).toBeLessThan(0.2 * documents)
  expect(count['with errors']).toBeGreaterThan(0.2 * documents)
}, 600_000)
