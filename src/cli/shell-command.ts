import { relative } from 'node:path'

/**
 * @param command a command of this program with its arguments, such as `migrate`
 * @returns the line that runs it in the working directory, ready to paste
 */
export function shellCommand(command: string): string {
  if (/^(start|cli)$/.test(process.env.npm_lifecycle_event ?? '')) return `npm run cli -- ${command}`
  const [, program = 'dist/main.js'] = process.argv
  const path = relative('', program)
  return `node ${path.startsWith('..') ? program : path} ${command}`
}
