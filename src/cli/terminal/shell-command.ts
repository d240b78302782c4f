import { relative } from 'node:path'

/**
 * Returns the shell line that runs a command of this program in the working directory.
 *
 * @param command the command with its arguments, for example `migrate`
 */
export function shellCommand(command: string): string {
  const event = process.env.npm_lifecycle_event
  if (event === 'start' && command.startsWith('serve ')) return command.replace('serve', 'npm start --')
  if (/^(start|cli)$/.test(event ?? '')) return `npm run cli -- ${command}`
  const [, program = 'dist/main.js'] = process.argv
  const path = relative('', program)
  return `node ${path.startsWith('..') ? program : path} ${command}`
}
