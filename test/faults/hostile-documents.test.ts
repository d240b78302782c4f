/** The memory that different hostile documents leave behind. */
import { expect, onTestFinished, test } from 'vitest'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { serve } from '../support/process.ts'
import { until } from '../support/until.ts'
import { isShort } from './support/form.ts'

/** The number of documents of each kind that are sent in one round. */
const count = isShort ? 200 : 3_500

/** Writes the size of the heap to standard error at SIGUSR2, after a collection. */
const preload = `
  import { setFlagsFromString } from 'node:v8'
  import { runInNewContext } from 'node:vm'
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  process.on('SIGUSR2', () => {
    collect()
    setTimeout(() => { collect(); console.error('heap', process.memoryUsage().heapUsed) }, 100)
  })`

const words = (text: string, times: number) => `${text} `.repeat(times)

/** Documents that differ in one number: not valid, no documents at all, and valid. The longest body has 100 KiB. */
const kinds: Record<string, (at: number) => string> = {
  'unknown fields': at => `{ a${at} ${words('unknown', 120)} }`,
  'as many tokens as are read': at => `{ a${at} ${words('a', 1_900)} }`,
  'a long string': at => `{ a${at}(x: "${'x'.repeat(90_000)}") }`,
  'no document': at => `{ a${at} ${words('x', 300)} !`,
  'no document, and long': at => `{ a${at}(x: "${'x'.repeat(90_000)}") !`,
  'valid fields': at => `query Q${at} { viewer { name ${words('name', 20)} } }`,
}

const database = await createDatabase()
const build = createBuilders(database)
const { secret } = await build.token([await build.tenant()], { rateLimit: 1_000_000 })

test('different documents leave the heap as it was', { timeout: 1_200_000 }, async () => {
  const service = await serve({ DATABASE_URL: database.url, LOG_LEVEL: 'warn' }, { preload })
  onTestFinished(() => void service.child.kill('SIGKILL'))
  const url = new URL('/graphql', service.restAddress)
  const headers = { authorization: `Bearer ${secret}`, accept: 'application/json', 'content-type': 'application/json' }
  let sent = 0
  async function sendRound(documents: number) {
    for (const make of Object.values(kinds)) {
      for (let at = 0; at < documents; at++) {
        const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query: make(sent++) }) })
        await response.text()
        expect(response.status).toBe(200)
      }
    }
  }
  async function heap(): Promise<number> {
    const from = service.printed().length
    service.child.kill('SIGUSR2')
    const written = await until('the size is written', () => /heap (\d+)/.exec(service.printed().slice(from)))
    return Number(written[1]) / 1e6
  }
  await sendRound(20)
  const started = await heap()
  await sendRound(count / 4)
  const early = await heap()
  await sendRound(count)
  const late = await heap()
  console.log(`heap: ${started.toFixed(1)} MB, then ${early.toFixed(1)} MB, then ${late.toFixed(1)} MB`)
  // Caches of valid documents and of plans fill up to their limits.
  expect(late - started).toBeLessThan(40)
  expect(late - early).toBeLessThan(25)
  await service.stop('SIGTERM')
})
