#!/usr/bin/env node
/**
 * The program of the package, with the default command `sync` and the command `listen`. The program `voucher-gateway`
 * of the service also has both commands.
 */
import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { syncCommand } from './command.ts'
import { listenCommand } from './listen/command.ts'
import { endWithOutput, requireOptionsLast } from './program.ts'

const { version }: { version: string } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

const isListen = process.argv[2] === listenCommand.name()
const command = isListen ? listenCommand.name('voucher-gateway-sync listen') : syncCommand.name('voucher-gateway-sync')
syncCommand.addHelpText('after', '\nvoucher-gateway-sync listen --help: posts each change to a local address instead.')

endWithOutput()
requireOptionsLast(command)
try {
  await command
    .version(version)
    .exitOverride()
    .parseAsync(process.argv.slice(isListen ? 3 : 2), { from: 'user' })
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // Commander has already printed the message. It also throws after `--help` and `--version`, with exit code 0.
  process.exitCode = error.exitCode === 0 ? 0 : 2
}
