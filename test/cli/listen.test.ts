import dns from 'node:dns'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { listen } from '../../src/cli/serve/listen.ts'
import { readConfig } from '../../src/config/config.ts'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'

/** Sends bytes that are not HTTP. @returns the answer, or null when nothing listens there */
async function readAnswer(host: string, port: number): Promise<string | null> {
  const socket = connect(port, host, () => socket.write('not HTTP\r\n\r\n'))
  try {
    return String(await once(socket, 'data'))
  } catch {
    return null
  } finally {
    socket.destroy()
  }
}

test('with HOST=localhost each address that listens gives the answers of the service, and has its limits', async () => {
  // Gives `localhost` a second address, because the name may have only one on this machine. Fastify looks up all
  // addresses, and Node only one.
  const addresses = ['127.0.0.1', '127.0.0.2']
  const found = addresses.map(address => ({ address, family: 4 }))
  const all = (_host: string, _options: object, done: (error: null, found: object[]) => void) => done(null, found)
  const { lookup } = dns
  Object.assign(dns, {
    lookup: (...given: unknown[]) => Reflect.apply(given.length === 3 ? all : lookup, dns, given),
  })
  const { app } = await createApp(await createDatabase())
  const origin = await listen(app, readConfig({ HOST: 'localhost', PORT: '0' }))
  Object.assign(dns, { lookup })
  expect(origin).toMatch(/^http:\/\/localhost:\d+$/)
  const answers = await Promise.all(addresses.map(address => readAnswer(address, Number(new URL(origin).port))))
  const listening = answers.filter(answer => answer !== null)
  expect(listening).not.toEqual([])
  for (const answer of listening) expect(answer).toContain('The request is not valid HTTP.')
})
