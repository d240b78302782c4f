/** The program `voucher-gateway`: runs the command that the arguments name. */
import addCompletion from '@bomb.sh/tab/commander'
import { Command, CommanderError } from 'commander'
import postgres from '#postgres'
import { endWithOutput, requireOptionsLast } from '#program'
import { GatewayError } from '../domain/errors.ts'
import { version } from '../version.ts'
import { loadEnvFile } from './files/env-file.ts'

/**
 * The commands, in the order of the help. Each start loads only the command that it runs, because loading all commands
 * takes most of the time of a short command.
 */
const commands = new Map<string, () => Promise<Command>>([
  ['serve', async () => (await import('./serve/serve.ts')).serveCommand],
  ['migrate', async () => (await import('./migrate.ts')).migrateCommand],
  ['demo', async () => (await import('./demo.ts')).demoCommand],
  ['import', async () => (await import('./import.ts')).importCommand],
  ['token', async () => (await import('./token.ts')).tokenCommand],
  ['webhook', async () => (await import('./webhook.ts')).webhookCommand],
  ['redemption-token', async () => (await import('./redemption-token.ts')).redemptionTokenCommand],
  ['keys', async () => (await import('./keys.ts')).keysCommand],
  ['sync', async () => (await import('#sync')).syncCommand],
  ['listen', async () => (await import('#listen')).listenCommand],
  ['admin', async () => (await import('./admin.ts')).adminCommand],
  ['verify', async () => (await import('./verify.ts')).verifyCommand],
  ['doctor', async () => (await import('./doctor.ts')).doctorCommand],
  ['adopt', async () => (await import('./adopt/adopt.ts')).adoptCommand],
])

const program = new Command('voucher-gateway')
  .description('The external integration service of a gift voucher platform.')
  .version(version)
  // `.env` is read before the command reads its options, because variables set the defaults of some options. `doctor`
  // reports a wrong file as a check.
  .hook('preSubcommand', (_program, command) => {
    if (command.name() !== 'doctor') loadEnvFile()
  })
  .exitOverride()

const namedCommand = commands.get(process.argv[2] ?? '')
for (const load of namedCommand ? [namedCommand] : commands.values()) program.addCommand(await load())
inheritSettings(program)
requireOptionsLast(program)
// Added last, so that the settings above do not apply to the completion command, which accepts any words.
addCompletion(program)

endWithOutput()
try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed the message. `--help` and `--version` end with exit code 0.
    process.exitCode = error.exitCode === 0 ? 0 : 2
  } else {
    console.error(messageOf(error))
    if (program.args[0] === 'serve') (await import('./serve/serve.ts')).logFailedStart(error)
    process.exitCode = error instanceof GatewayError && error.code === 'BAD_USER_INPUT' ? 2 : 1
  }
}

/** Passes the settings of a command to its subcommands, because `addCommand` does not pass them. */
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent)
    inheritSettings(command)
  }
}

/** Returns the message for a command that failed, without the stack. */
function messageOf(error: unknown): string {
  if (error instanceof GatewayError && error.fieldErrors) return Object.values(error.fieldErrors).flat().join(' ')
  if (!(error instanceof Error)) return String(error)
  if (error instanceof postgres.PostgresError && error.hint) return `${error.message}\n${error.hint}`
  return error.message || ('code' in error ? String(error.code) : error.name)
}
