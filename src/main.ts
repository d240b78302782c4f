#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { demoCommand } from './cli/demo.ts'
import { migrateCommand } from './cli/migrate.ts'
import { serveCommand } from './cli/serve.ts'
import { tokenCommand } from './cli/token.ts'
import { ConfigError } from './config.ts'
import { GatewayError } from './domain/errors.ts'

const program = new Command('voucher-gateway')
  .description('The external integration service of a gift voucher platform.')
  .showHelpAfterError('Ask --help for how to use it.')
  .exitOverride()
  .addCommand(serveCommand)
  .addCommand(migrateCommand)
  .addCommand(demoCommand)
  .addCommand(tokenCommand)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has said what is wrong. Asking for help is not wrong.
    process.exitCode = error.exitCode === 0 ? 0 : 2
  } else {
    console.error(told(error))
    process.exitCode = 1
  }
}

/** What a person is told of a failed command: known refusals in their own words, all else whole. */
function told(error: unknown): string {
  if (error instanceof GatewayError) return [error.message, ...Object.values(error.faults ?? {}).flat()].join(' ')
  if (error instanceof ConfigError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
