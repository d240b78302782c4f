/** Rules for all commands of a program: the program of this package, and the program of the service. */
import type { Command } from 'commander'
import { exitCodes } from './errors.ts'

/** The exit code of a command whose reader has left, as a shell reports SIGPIPE: 128 + 13. */
const readerLeft = 141

/**
 * Ends the process when its output cannot be written, with exit code 1 and the reason. When the reader of a pipe has left
 * (`sync --json | head -1`), it ends without a message and with exit code 141.
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
 * Makes a command and its subcommands report an unknown option before a missing option, so that `--too` is not answered by
 * the lack of `--to`.
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
