/** Behaviour that all commands share, in the program of this package and in the program of the service. */
import type { Command } from 'commander'
import { exitCodes } from './errors.ts'

/** The exit code of a command whose output pipe was closed, as a shell reports SIGPIPE: 128 + 13. */
const readerLeft = 141

/**
 * Ends the process with exit code 1 and the reason when its output cannot be written. When the reader has closed the
 * pipe (`sync --json | head -1`), the process ends without a message and with exit code 141.
 */
export function endWithOutput(): void {
  const end = ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? readerLeft : exitCodes.failed)
  process.stderr.on('error', end)
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') console.error(`The output cannot be written: ${error.message}`)
    end(error)
  })
}

/**
 * Makes a command and its subcommands report an unknown option before a missing option, so that the error for `--too`
 * names `--too`, not the missing `--to`.
 */
export function requireOptionsLast(command: Command): void {
  for (const option of command.options.filter(({ mandatory }) => mandatory)) {
    option.makeOptionMandatory(false)
    command.hook('preAction', () => {
      if (command.getOptionValue(option.attributeName()) !== undefined) return
      command.error(`error: required option '${option.flags}' not specified`)
    })
  }
  command.commands.forEach(requireOptionsLast)
}
