/**
 * Documents that recur, compiled: what graphql-js does for each field of each record is done once for each document.
 *
 * The first times a document is Yoga's, which parses it, validates it and holds it to the limits; what has passed
 * once always will, but for what depends on variables: these, and the cost where they can change it, are looked at
 * each time. Only an answer that Yoga would give with status 200 is given here; whatever else there is to say is left
 * to it.
 *
 * Bounded in memory: documents are counted by their texts in one cache, and those that came often enough compiled in
 * another. A stranger's varied queries never get out of the first.
 */
import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  getNamedType,
  getOperationAST,
  isAbstractType,
  parse,
  print,
  Source,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit'
import { LRUCache } from 'lru-cache'
import type { Context } from '../graphql/context.ts'
import { schema } from '../graphql/schema.ts'
import { prepareVariables } from '../graphql/variables.ts'
import { costOf, limits } from './limits.ts'

/** What a GraphQL request asks for (GraphQL over HTTP, §6.4.1). */
export interface Asked {
  query: string
  operationName: string | null
  variables: Record<string, unknown>
}

/** @returns the result; null when there is something to say that is Yoga's to say: nothing has been run then */
export type Run = (context: Context, variables: Record<string, unknown>) => Promise<ExecutionResult> | null

/** How often a document has to come. */
const often = 3

/** A compiled document takes some tens of times the memory of its text. */
const compiledAtMost = { documents: 100, characters: 100_000 }

const parameters = new Set(['query', 'operationName', 'variables'])

/** @returns what a request body asks for; null when it is not in the plainest form, which Yoga may yet understand */
export function readAsked(body: unknown): Asked | null {
  if (typeof body !== 'string') return null
  let asked: unknown
  try {
    asked = JSON.parse(body)
  } catch {
    return null
  }
  if (!isObject(asked)) return null
  const { query, operationName = null, variables = null } = asked
  if (typeof query !== 'string' || !Object.keys(asked).every(key => parameters.has(key))) return null
  if (operationName !== null && typeof operationName !== 'string') return null
  if (variables !== null && !isObject(variables)) return null
  return { query, operationName, variables: variables ?? {} }
}

/** Keeps the documents that recur. */
export function createRecurring() {
  const counts = new LRUCache<string, number>({
    max: 1000,
    maxSize: 1_000_000,
    sizeCalculation: (_count, key) => key.length,
  })
  const compiled = new LRUCache<string, { run: Run | null }>({
    max: compiledAtMost.documents,
    maxSize: compiledAtMost.characters,
    sizeCalculation: (_run, key) => key.length,
  })
  const keyOf = ({ query, operationName }: Asked) => `${operationName ?? ''}\n${query}`
  return {
    /** @returns how to run the document; null: by Yoga */
    find: (asked: Asked): Run | null => compiled.get(keyOf(asked))?.run ?? null,

    /** Notes that Yoga has run the document, and found nothing wrong with it. */
    note(asked: Asked): void {
      const key = keyOf(asked)
      if (compiled.has(key)) return
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      if (count < often) return
      counts.delete(key)
      compiled.set(key, { run: compile(asked) })
    },
  }
}

/** The types of variables that are a text. */
const textTypes = new Set(['ID', 'String', 'DateTime'])

function compile({ query, operationName }: Asked): Run | null {
  const source = new Source(query)
  const document = parse(source)
  const operation = getOperationAST(document, operationName)
  if (!operation || isLeftToYoga(document)) return null
  const found = compileQuery(schema, document, operationName ?? undefined)
  if (!isCompiledQuery(found)) return null
  const { variableDefinitions = [] } = operation
  const readVariables = prepareVariables(variableDefinitions)
  // What numbers, lists and conditions a document takes decides what it costs, and nothing else does.
  const costIsFixed = variableDefinitions.every(({ type }) => textTypes.has(print(type).replace('!', '')))
  let cost: number | null = null
  return (context, variables) => {
    if (!readVariables(variables)) return null
    if (cost === null || !costIsFixed) cost = costOf(document, context, variables)
    if (cost > limits.cost) return null
    return answer(found.query(undefined, context, variables), source)
  }
}

async function answer(running: ReturnType<CompiledQuery['query']>, source: Source): Promise<ExecutionResult> {
  const { data = null, errors } = await running
  return errors ? { errors: errors.map(error => placed(error, source)), data } : { data }
}

/** The same error as graphql-js would have made it: those of graphql-jit have what was thrown for their prototype. */
function placed(error: GraphQLError, source: Source): GraphQLError {
  const { message, path, originalError, locations = [] } = error
  const lines = source.body.split(/\r\n|[\n\r]/g)
  const positions = locations.map(({ line, column }) => {
    const before = lines.slice(0, line - 1).reduce((length, text) => length + text.length + 1, 0)
    return before + column - 1
  })
  return new GraphQLError(message, { source, positions, path: path ?? null, originalError: originalError ?? null })
}

/**
 * Whether a document is run as it always was: one that asks about the schema, and one with fields of an interface,
 * whose lists may hold promises; graphql-jit drops those that fail, where null belongs.
 */
function isLeftToYoga(document: DocumentNode): boolean {
  let found = false
  const types = new TypeInfo(schema)
  visit(
    document,
    visitWithTypeInfo(types, {
      Field(node) {
        if (node.name.value.startsWith('__') && node.name.value !== '__typename') found = true
        if (isAbstractType(getNamedType(types.getType()))) found = true
      },
    }),
  )
  return found
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
