import { expect, test } from 'vitest'
import { VoucherGateway } from '../../packages/client/src/index.ts'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { refusalOf, run, serve } from '../support/process.ts'
import { until } from '../support/until.ts'

const environment = { DATA_DIR: createDirectory(), LOG_LEVEL: 'warn' }

async function startLive() {
  const service = await serve(environment, { args: ['--live'] })
  const token = /Token +(vgw_\w+)/.exec(service.printed())?.[1] ?? ''
  const client = new VoucherGateway({ url: service.restAddress, token })
  const stop = async () => {
    expect(await service.stop('SIGTERM')).toBe(0)
    expect(service.log()).not.toMatch(/"level":[56]0/)
    expect(service.printed()).not.toContain('The live demo cannot write')
  }
  return { client, stop }
}

test('serve --live changes vouchers and consents, and stops with the service', async () => {
  const { client, stop } = await startLive()
  const { serverTime: start } = await client.changes()
  const kinds = ['purchased-vouchers', 'marketing-signups'] as const
  const hasAll = async () => {
    const { lists } = await client.changes({ after: start })
    return kinds.every(kind => lists.some(({ list }) => list === kind))
  }
  // The client waits when the rate of the token is spent.
  await until('a change of each kind', hasAll, 100_000)
  await stop()
})

test('without the demo it is refused', async () => {
  const { url: DATABASE_URL } = await createDatabase()
  expect(refusalOf(await run(['serve', '--live'], { DATABASE_URL }))).toContain('Start without DATABASE_URL')
})
