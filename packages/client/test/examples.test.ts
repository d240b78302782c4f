/**
 * Checks that the examples in doc comments and in the README compile, and that each exported function has an example.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createDirectory } from '../../../test/support/directory.ts'
import * as exported from '../src/index.ts'
import { RecordList } from '../src/list.ts'

const packageFolder = join(import.meta.dirname, '..')
const root = join(packageFolder, '../..')

/** Matches the example at the end of a doc comment, and the name of the documented item. */
const examplePattern = /@example((?:(?!\*\/)[\s\S])*)\*\/\s*(?:(?:export|class|function|async|get)\b\s*|\*)*(\w+)/g

/** The examples of doc comments, by the name of the documented item. */
const examples = new Map(
  readdirSync(join(packageFolder, 'src')).flatMap(file =>
    [...readFileSync(join(packageFolder, 'src', file), 'utf8').matchAll(examplePattern)].map(
      ([, example = '', name = '']) => [name, example.replaceAll(/^ *\*/gm, '')] as const,
    ),
  ),
)

/** Returns the names of the public methods and accessors of a class; an empty list for a function. */
function methodsOf(prototype: object | undefined): string[] {
  if (prototype === undefined || prototype === Object.prototype || prototype === Error.prototype) return []
  const own = Object.getOwnPropertyNames(prototype).filter(name => name !== 'constructor')
  return [...own, ...methodsOf(Object.getPrototypeOf(prototype))]
}

test('each exported class and function, and each public method, has an example', () => {
  const offered = [...Object.values(exported), RecordList].filter(value => typeof value === 'function')
  const names = offered.flatMap(({ name, prototype }) => [name, ...methodsOf(prototype)])
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter(name => !examples.has(name))).toEqual([])
})

/** Declares the variables that the examples use without a declaration. */
const exampleDeclarations = `
import { type verifyWebhook as verify, VoucherGateway as Client, VoucherGatewayError as ClientError, type WebhookHeaders } from '@voucher-gateway/client'
declare global {
  const client: Client
  const VoucherGatewayError: typeof ClientError
  const tenantId: number, productId: number, voucherId: number, customerId: number
  const token: string, cursor: string, qrToken: string
  let lastTime: string | undefined, lastServerTime: string | undefined
  let lastRemovalTime: string | undefined, lastChangeTime: string | undefined
  type Act = (...values: unknown[]) => Promise<void>
  const store: Act, show: Act
  type Acts = Record<'delete' | 'readAgain' | 'readEverything' | 'readTenants' | 'set', Act>
  const copy: { epoch: number; access: string } & Acts
  const process: { env: Record<string, string> }
  const signal: AbortSignal, verifyWebhook: typeof verify
  type Handler = (req: { body: Uint8Array; headers: Record<string, string> }, res: { sendStatus(status: number): void }) => unknown
  const app: { post(path: string, ...handlers: (object | Handler)[]): void }
  const express: { raw(options: object): object }
  const queue: { add: Act }
}`

test('each example compiles', async () => {
  const directory = createDirectory()
  const samples = readFileSync(join(packageFolder, 'README.md'), 'utf8').matchAll(/```js\n(.*?)```/gs)
  const texts = { ...Object.fromEntries(examples), ...[...samples].map(([, sample]) => sample) }
  expect(Object.keys(texts).length).toBeGreaterThan(25)
  for (const [name, text] of Object.entries({ ...texts, surroundings: exampleDeclarations }))
    writeFileSync(join(directory, `${name}.mts`), `${text}\nexport {}\n`)
  const compilerOptions = {
    target: 'ES2023',
    lib: ['ES2023', 'DOM'],
    module: 'NodeNext',
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    paths: { '@voucher-gateway/client': [join(packageFolder, 'dist/index.d.ts')] },
  }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts'] }))
  const compiled = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', directory])
  expect(await compiled.catch((error: { stdout: string }) => error)).toMatchObject({ stdout: '' })
})
