/** Tests how commands end when their output cannot be written. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { directoryPlace } from '../support/copies.ts'
import { type ProcessOptions, run } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { database, build, client } = await startService()
const origin = await client.app.listen({ host: '127.0.0.1', port: 0 })
const { secret } = await build.token([await build.tenant()])
const environment = { DATABASE_URL: database.url, VOUCHER_GATEWAY_TOKEN: secret, VOUCHER_GATEWAY_URL: origin }

const ownProgram = { entry: join(import.meta.dirname, '../../packages/sync/dist/main.js') }

const commands: [command: string[], options?: ProcessOptions][] = [
  [['--version']],
  [['token', 'edit', '--help']],
  [['token', 'list', '--json']],
  [['sync', '--json', '--to', directoryPlace().to]],
  [['--help'], ownProgram],
  [['--json', '--to', directoryPlace().to], ownProgram],
]

/** Shell code that opens descriptor 3 as a pipe whose reader has ended. */
const withoutReader = 'exec 3> >(:); wait $!;'

describe.concurrent('a command', () => {
  test.each(commands)('ends without a message when its output has no reader: %j', async (command, options) => {
    const outcome = await run(command, environment, { ...options, shell: `${withoutReader} exec "$@" >&3` })
    expect(outcome).toEqual({ code: 141, stdout: '', stderr: '' })
  })

  test.each(['token bogus', 'sync --to /dev/null'])('ends when its error output has no reader: %s', async command => {
    expect((await run(command.split(' '), environment, { shell: `${withoutReader} exec "$@" 2>&3` })).code).toBe(141)
  })

  test.each(commands.slice(2, 5))('whose output does not fit on a disk fails: %j', async (command, options) => {
    const { code, stderr } = await run(command, environment, { ...options, shell: 'exec "$@" >/dev/full' })
    expect([code, stderr]).toEqual([1, 'The output cannot be written: ENOSPC: no space left on device, write\n'])
  })
})
