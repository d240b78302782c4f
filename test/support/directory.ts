import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findCluster } from '../../packages/embedded/src/paths.ts'
import { afterFile } from './cleanups.ts'

/**
 * Creates a directory, and removes it after the tests of the file. All users may traverse it, because an embedded
 * server runs as another user.
 */
export function createDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  chmodSync(path, 0o711)
  afterFile(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/**
 * Creates a directory that belongs to the account that runs servers, because PostgreSQL and its poolers refuse to run
 * as root.
 */
export function createServerDirectory() {
  const path = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  chmodSync(path, 0o711)
  const { account } = findCluster(path)
  chownSync(path, account.uid, account.gid)
  return { path, account }
}
