/** The stress test of the sync as a command: `npm run stress -- --seconds 60`. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../../src/config.ts'
import { connect } from '../../src/db/connect.ts'
import { startEmbedded } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { buildServer } from '../../src/server.ts'
import { formatReport, lostByClients, lostByControl } from './report.ts'
import { type StressOptions, stress } from './run.ts'

const number = (text: string) => {
  const value = Number(text)
  if (!(value >= 0)) throw new InvalidArgumentError('This must be a number that is not negative.')
  return value
}

const options = new Command('stress')
  .description('Writes in every way that writers do, and checks that clients which resume miss nothing.')
  .option('--seconds <seconds>', 'for how long', number, 60)
  .option('--writers <count>', 'how many write at once', number, 12)
  .option('--longest <seconds>', 'how long a transaction may take', number, 6)
  .option('--seed <number>', 'decides what is written', number, Date.now() % 1_000_000)
  .option('--bulk-rows <count>', 'how many rows a bulk load brings', number, 2000)
  .option('--hold <seconds>', 'for how long one writer holds a transaction open while the lag is watched', number, 5)
  .parse()
  .opts<StressOptions>()

const dataDir = mkdtempSync(join(tmpdir(), 'gateway-stress-'))
// The server may run as another user, who has to pass through.
chmodSync(dataDir, 0o711)
const { stop, ...address } = await startEmbedded({
  dataDir,
  durable: false,
  settings: { max_connections: '200', max_prepared_transactions: '50' },
})
const pool = connect(address, { max: 10, statementTimeoutMs: 10_000 })
try {
  await migrate(pool)
  const app = await buildServer(readConfig({ LOG_LEVEL: 'warn', RATE_LIMIT_PER_MINUTE: '1000000' }), pool)
  const report = await stress(address, app, options)
  await app.close()
  console.log(formatReport(report, options))
  // A check that cannot fail proves nothing: the control has to lose.
  if (lostByClients(report) > 0 || lostByControl(report) === 0) process.exitCode = 1
} finally {
  await pool.end({ timeout: 1 })
  await stop()
  rmSync(dataDir, { recursive: true, force: true })
}
