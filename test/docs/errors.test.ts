import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Node, parse } from 'acorn'
import { fullAncestor } from 'acorn-walk'
import { expect, test } from 'vitest'
import { readGuide } from '../../docs/render/markdown.ts'
import { guides } from '../../src/docs/guides.ts'
import { documentedMessages, isTemplateDocumented, undocumentedMessages } from '../support/documented-errors.ts'

const dist = join(import.meta.dirname, '../../dist')

/** The folders whose sentences can reach a caller, besides `domain`. */
const folders = ['executor', 'export', 'graphql', 'graphql-http', 'http', 'rest', 'domain']

/** Files whose sentences others read: administrators, operators and developers. */
const others =
  /^(domain\/(access|administrator|invitation|password|permission|semaphore|token|audit|session|openid|request-count)|http\/request-count|graphql-http\/(graphiql|read-trusted-documents)|rest\/v1\/routes|export\/routes)/

/**
 * The sentences of internal errors, which callers do not see, of checks at the start of the service, and of the log.
 */
const internal = [
  'The request is not valid.',
  'The operation cannot be planned: {}.',
  'BigInt is not an input type.',
  'Validation aborted.',
  'The GraphQL request is not valid.',
  'It has no operation.',
  'Expected Iterable, but did not find one for field "{}.{}".',
  'Expected `{}` to return non-nullable value, returned: {}',
]

const schemaText = readFileSync(join(dist, '../schema/schema.graphql'), 'utf8').replaceAll(/\s+/g, ' ')

/** Returns the compiled files of a folder that have a source: a former build can have left others. */
const filesOf = (folder: string): string[] =>
  readdirSync(join(dist, '../src', folder), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.tsx?$/.test(name))
    .map(name => `${folder}/${name.replace(/tsx?$/, 'js')}`)

/**
 * Returns a text of the program with `{}` for each part that is known only at run time; null when the node is not a
 * text.
 */
function textOf(node: Node): string | null {
  const any = node as Node & Record<string, unknown>
  if (node.type === 'Literal') return typeof any.value === 'string' ? any.value : null
  if (node.type === 'TemplateLiteral') {
    const quasis = any.quasis as { value: { cooked: string } }[]
    return quasis.map(({ value }) => value.cooked).join('{}')
  }
  if (node.type === 'BinaryExpression' && any.operator === '+') {
    const [left, right] = [textOf(any.left as Node), textOf(any.right as Node)]
    return left === null && right === null ? null : `${left ?? '{}'}${right ?? '{}'}`
  }
  return null
}

/** Nodes whose strings are not messages to callers: descriptions of the schema, and errors of the program itself. */
function isOther(ancestors: readonly Node[], source: string): boolean {
  return ancestors.some(ancestor => {
    const text = source.slice(ancestor.start, ancestor.start + 40)
    return (
      (ancestor.type === 'Property' && /^(description|deprecationReason)\b/.test(text)) ||
      (ancestor.type === 'CallExpression' && /^nameOfVoucher\(/.test(text)) ||
      (ancestor.type === 'NewExpression' && /^new (Type|Range)?Error\(/.test(text))
    )
  })
}

/** Returns the sentences of a file that can be messages. */
function sentencesOf(file: string): string[] {
  const source = readFileSync(join(dist, file), 'utf8')
  const found: string[] = []
  fullAncestor(parse(source, { ecmaVersion: 'latest', sourceType: 'module' }), (node, _state, ancestors) => {
    const text = textOf(node)
    const parent = ancestors.at(-2)
    if (text === null || (parent && textOf(parent) !== null) || isOther(ancestors, source)) return
    if (/^[A-Z{].* .*[.:]$/s.test(text) && !schemaText.includes(text.replaceAll(/\s+/g, ' '))) found.push(text)
  })
  return found
}

test('the guide lists every message that the service can answer', () => {
  const messages = folders
    .filter(folder => existsSync(join(dist, folder)))
    .flatMap(filesOf)
    .filter(file => !others.test(file))
    .flatMap(file => sentencesOf(file).map(message => ({ file, message })))
  expect(messages.length).toBeGreaterThan(30)
  const missing = messages.filter(({ message }) => !internal.includes(message) && !isTemplateDocumented(message))
  expect(missing).toEqual([])
})

test('each message stands in the guide once', () => {
  expect(documentedMessages.length).toBeGreaterThan(40)
  expect(documentedMessages).toEqual([...new Set(documentedMessages)])
})

test('an answer with a message that the guide lacks is found', () => {
  expect(undocumentedMessages({ message: 'No such path.' })).toEqual([])
  expect(undocumentedMessages({ message: 'No such luck.' })).toEqual(['No such luck.'])
  expect(undocumentedMessages({ message: 'The request is not valid.', errors: { a: ['Surprise.'] } })).toEqual([
    'Surprise.',
  ])
})

test('each guide has the title of the list', () => {
  for (const guide of guides) expect(readGuide(guide).split('\n', 1)[0]).toBe(`# ${guide.title}`)
})
