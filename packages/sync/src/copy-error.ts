/** Creates the errors of a copy whose files or database cannot be used, with a remedy for the user. */
import { exitCodes, SyncError } from './errors.ts'
import { messageOf } from './service-error.ts'

/** The remedies, by the error code of the operating system, of SQLite or of PostgreSQL. */
const remedies: readonly [codes: RegExp, remedy: string][] = [
  [
    /^(ENOSPC|EDQUOT|EFBIG|13|53100)$/,
    'Free space there, and run the command again: it continues from its checkpoint.',
  ],
  [
    /^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR|ENAMETOOLONG|8|14|42501)$/,
    'Name another place with --to, one where this account can create files, or a schema.',
  ],
]

/** Thrown when the files or the database of a copy cannot be used. */
export class CopyError extends SyncError {
  /** @param to the target as messages show it */
  constructor(to: string, problem: 'opened' | 'written', cause: unknown) {
    const codes = cause instanceof Error ? ['code', 'errcode'].map(name => String(Reflect.get(cause, name))) : []
    const remedy = remedies.find(([known]) => codes.some(code => known.test(code)))?.[1]
    const isSilent = codes.includes('CONNECT_TIMEOUT')
    const message = isSilent ? 'the server does not answer' : messageOf(cause).replace(/\.$/, '')
    super(exitCodes.failed, `The copy in ${to} cannot be ${problem}: ${message}.${remedy ? ` ${remedy}` : ''}`, {
      cause,
    })
  }
}
