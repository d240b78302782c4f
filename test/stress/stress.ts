/** The stress test as a command: `npm run stress -- --sources adopted --seconds 60`. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { cleanUp } from '../support/cleanups.ts'
import { clientKinds } from '../sync/followers.ts'
import { startAdopted } from './adopted.ts'
import { startPlain } from './plain.ts'
import { run, type StressOptions } from './run.ts'

const number = (text: string) => {
  const value = Number(text)
  if (!(value >= 0)) throw new InvalidArgumentError('This must be a number that is not negative.')
  return value
}

const command = new Command('stress')
  .description(
    'Runs all kinds of writers, and checks that clients that resume end with exactly what the service holds, and that ' +
      'records and figures agree with their sources. Exits with 1 when they do not. Over plain sources it exits with 3 when ' +
      'the control, which resumes from the time, misses no change: a check that cannot fail proves nothing.',
  )
  .addOption(
    new Option('--sources <kind>', 'the plain tables, or a platform of fifteen tables, perhaps on a server of its own')
      .choices(['plain', 'adopted', 'replicated'])
      .default('plain'),
  )
  .option('--seconds <seconds>', 'how long the writers run at least', number, 60)
  .option('--writers <count>', 'how many writers; at a publisher, a fifth as many as for plain sources', number, 10)
  .option('--clients <count>', `how many clients; ${clientKinds.length} at most`, number, clientKinds.length)
  .option('--events <count>', 'how many clients that read only what webhooks tell; receivers have faults', number, 3)
  .option('--longest <seconds>', 'the longest transaction', number, 6)
  .option('--seed <number>', 'seed of the random numbers', number, Date.now() % 1_000_000)
  .option('--bulk-rows <count>', 'rows of a bulk load', number, 2000)
  .option('--instances <count>', 'instances of the service, which clients read by turns', number, 2)
  .option('--packaged', 'on the PostgreSQL of the packages; plain sources: with standbys', false)
  .option('--pgbouncer', 'plain sources: PgBouncer before the service, and another one before the platform', false)
  .option('--standbys <count>', 'plain sources: standbys from which the service reads, and their faults', number, 0)
  .option('--pgpool', 'with standbys: Pgpool-II before them, which routes each read to another one', false)
  .option('--cards <count>', 'adopted sources: rows of the largest table before it', number, 10_000)
  .option('--kills <count>', 'adopted sources: how often each of both `adopt apply` is killed', number, 4)
  .option('--without <file>', 'adopted sources: a rule that leads to no key, as if forgotten: the run has to fail')

const options = command.parse().opts<StressOptions>()
const isPlain = options.sources === 'plain'
for (const name of isPlain ? ['cards', 'kills', 'without'] : ['pgbouncer', 'standbys', 'pgpool'])
  if (command.getOptionValueSource(name) === 'cli') command.error(`--${name} is none of ${options.sources} sources.`)

try {
  process.exitCode = await run(await (isPlain ? startPlain : startAdopted)(options), options)
} finally {
  await cleanUp()
}
