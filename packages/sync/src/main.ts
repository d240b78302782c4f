#!/usr/bin/env node
/** The program of the package: the command alone. The service has it as `voucher-gateway sync`. */
import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { syncCommand } from './command.ts'
import { endWithOutput, requireOptionsLast } from './program.ts'

const { version }: { version: string } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

endWithOutput()
requireOptionsLast(syncCommand)
try {
  await syncCommand.name('voucher-gateway-sync').version(version).exitOverride().parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // Commander has printed the message. `--help` and `--version` end with exit code 0.
  process.exitCode = error.exitCode === 0 ? 0 : 2
}
