/** The program `voucher-gateway`: runs the command that the arguments name. */
import addCompletion from '@bomb.sh/tab/commander'
import { Command, CommanderError } from 'commander'
import postgres from '#postgres'
import { endWithOutput, requireOptionsLast } from '#program'
import { syncCommand } from '#sync'
import { GatewayError } from '../domain/errors.ts'
import { version } from '../version.ts'
import { adminCommand } from './admin.ts'
import { adoptCommand } from './adopt/adopt.ts'
import { demoCommand } from './demo.ts'
import { doctorCommand } from './doctor.ts'
import { loadEnvFile } from './files/env-file.ts'
import { importCommand } from './import.ts'
import { keysCommand } from './keys.ts'
import { migrateCommand } from './migrate.ts'
import { redemptionTokenCommand } from './redemption-token.ts'
import { logFailedStart, serveCommand } from './serve/serve.ts'
import { tokenCommand } from './token/token.ts'
import { verifyCommand } from './verify.ts'

const program = new Command('voucher-gateway')
  .description('The external integration service of a gift voucher platform.')
  .version(version)
  // Before the command reads its options: some have a variable. doctor reports a wrong file by itself.
  .hook('preSubcommand', (_program, command) => {
    if (command !== doctorCommand) loadEnvFile()
  })
  .exitOverride()
  .addCommand(serveCommand)
  .addCommand(migrateCommand)
  .addCommand(demoCommand)
  .addCommand(importCommand)
  .addCommand(tokenCommand)
  .addCommand(redemptionTokenCommand)
  .addCommand(keysCommand)
  .addCommand(syncCommand)
  .addCommand(adminCommand)
  .addCommand(verifyCommand)
  .addCommand(doctorCommand)
  .addCommand(adoptCommand)

inheritSettings(program)
requireOptionsLast(program)
// Its own command accepts any words.
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
    if (program.args[0] === serveCommand.name()) logFailedStart(error)
    process.exitCode = error instanceof GatewayError && error.code === 'BAD_USER_INPUT' ? 2 : 1
  }
}

/** Passes the parent's settings to its commands: `addCommand` does not do that. */
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
