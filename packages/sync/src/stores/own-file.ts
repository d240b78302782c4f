/**
 * Opens and creates the files and directories of a copy. Never follows a symbolic link, because it could lead to a file
 * outside the copy.
 */
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { exitCodes, SyncError } from '../errors.ts'

/** Flags that open a file for writing, and delete its content. */
export const writeFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC

/** Flags that open a file for reading and for appending. */
export const appendFlags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND

/**
 * Opens a file of the copy.
 *
 * @param flags the flags of open(2); default: read only
 * @throws SyncError when the path is a symbolic link
 */
export async function openOwnFile(path: string, flags: number = constants.O_RDONLY): Promise<FileHandle> {
  try {
    // Windows has no flag against following links, but lets few accounts create links.
    return await open(path, flags | (constants.O_NOFOLLOW ?? 0), 0o666)
  } catch (error) {
    throw hasCode(error, 'ELOOP') ? symbolicLinkError(path) : error
  }
}

/**
 * Throws an error again with the path of the file, which Node adds only for operations on a path, not on an open file.
 */
export const rethrowWithPath =
  (path: string) =>
  (error: Error): never => {
    error.message += ` '${path}'`
    throw error
  }

/**
 * Creates a directory and its missing parents. Node's recursive `mkdir` never returns below `/proc`, where the system
 * reports that an existing parent directory is missing.
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

/** Returns whether an error has this error code of the operating system. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** Returns whether an error means that the file does not exist (ENOENT). */
export const isMissing = (error: unknown): boolean => hasCode(error, 'ENOENT')

/** Creates a directory of the copy when it is missing. @throws SyncError when the path is a symbolic link or a file */
export async function ensureOwnDirectory(path: string): Promise<void> {
  await mkdir(path).catch(error => {
    if (!hasCode(error, 'EEXIST')) throw error
  })
  if (!(await lstat(path)).isDirectory()) throw symbolicLinkError(path)
}

const symbolicLinkError = (path: string) =>
  new SyncError(exitCodes.failed, `${path} is a symbolic link, or no directory. A copy has none: delete it.`)
