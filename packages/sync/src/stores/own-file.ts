/** The files and directories within a copy. A symbolic link could lead anywhere, so none of them is followed. */
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { exitCodes, SyncError } from '../errors.ts'

/** Opens to write a file from its beginning. */
export const writeFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC

/** Opens to read a file, and to add to its end. */
export const appendFlags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND

/**
 * Opens a file of the copy.
 *
 * @param flags the flags of open(2); default: to read
 * @throws SyncError when it is a symbolic link
 */
export async function openOwnFile(path: string, flags: number = constants.O_RDONLY): Promise<FileHandle> {
  try {
    // Windows has no such flag, and lets few accounts create links.
    return await open(path, flags | (constants.O_NOFOLLOW ?? 0), 0o666)
  } catch (error) {
    throw hasCode(error, 'ELOOP') ? isLink(path) : error
  }
}

/** Adds the name of an open file to an error, as Node does for a path, and throws it. */
export const rethrowWithPath =
  (path: string) =>
  (error: Error): never => {
    error.message += ` '${path}'`
    throw error
  }

/**
 * Creates a directory and its missing parents. Node's own recursive `mkdir` does not end where the
 * system answers that the directory above is missing although it exists, as `/proc` does.
 */
export async function ensureDirectory(path: string): Promise<void> {
  const isThere = await stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
  if (isThere) return
  if (dirname(path) !== path) await ensureDirectory(dirname(path))
  await ensureOwnDirectory(path)
}

/** Returns whether an error has a code of the system. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** Returns whether an error says that there is no such file. */
export const isMissing = (error: unknown): boolean => hasCode(error, 'ENOENT')

/** Creates a directory of the copy when it is missing. @throws SyncError when its name leads elsewhere */
export async function ensureOwnDirectory(path: string): Promise<void> {
  await mkdir(path).catch(error => {
    if (!hasCode(error, 'EEXIST')) throw error
  })
  if (!(await lstat(path)).isDirectory()) throw isLink(path)
}

const isLink = (path: string) =>
  new SyncError(exitCodes.failed, `${path} is a symbolic link, or no directory. A copy has none: delete it.`)
