/**
 * Stores a copy in a directory, with one NDJSON file per list and tenant. Each commit is written to a journal. At the
 * end of a round, `publish` writes a new version of each changed file and replaces the old version.
 */
import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Positions } from '../checkpoint.ts'
import type { Change, Store } from '../store.ts'
import {
  applyPositions,
  CopyFiles,
  idOf,
  journalName,
  listCopy,
  ownDirectory,
  readCheckpoint,
  type StoredCheckpoint,
} from './directory-reader.ts'
import { type FileChanges, Journal } from './journal.ts'
import { readLines, replaceFile, syncDirectory } from './lines.ts'
import { type Lock, takeLock } from './lock.ts'
import { ensureDirectory, ensureOwnDirectory } from './own-file.ts'

/** Stores a copy in a directory. */
export class DirectoryStore extends CopyFiles implements Store {
  private constructor(
    path: string,
    private readonly lock: Lock,
    private stored: StoredCheckpoint,
    protected journal: Journal,
  ) {
    super(path)
  }

  /**
   * Opens the copy, or begins a copy in a new or empty directory.
   *
   * @throws SyncError when the directory contains files but no copy, or when another process syncs to this directory
   */
  static async open(path: string): Promise<DirectoryStore> {
    const own = join(path, ownDirectory)
    await listCopy(path)
    await ensureDirectory(path)
    await ensureOwnDirectory(own)
    const lock = await takeLock(join(own, 'lock'))
    try {
      const stored = await readCheckpoint(join(own, 'checkpoint.json'))
      // Deletes a journal with another number, which a process leaves when it is killed during `publish`.
      for (const name of await readdir(own)) {
        if (name.startsWith('journal-') && name !== journalName(stored.journal)) await rm(join(own, name))
      }
      return new DirectoryStore(path, lock, stored, await Journal.open(join(own, journalName(stored.journal))))
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  get positions(): Positions {
    return applyPositions(new Map(Object.entries(this.stored.positions)), this.journal.positions)
  }

  async commit(changes: readonly Change[], positions: Positions): Promise<void> {
    await this.lock.check()
    await this.journal.commit(changes, positions)
  }

  /** When the process is killed during `publish`, the next sync repeats it from the journal with the same result. */
  async publish(): Promise<void> {
    if (this.journal.isEmpty) return
    await this.lock.check()
    const read = this.journal.reader()
    const directories = new Set<string>([this.path])
    for (const [name, changes] of this.journal.files) {
      const path = join(this.path, name)
      if (changes.list !== 'tenants') await ensureOwnDirectory(dirname(path))
      directories.add(dirname(path))
      await applyChanges(path, changes, read)
    }
    for (const directory of directories) await syncDirectory(directory)
    const { positions } = this
    const former = this.stored.journal
    this.stored = { journal: former + 1, positions: Object.fromEntries(positions) }
    const own = join(this.path, ownDirectory)
    await writeCheckpoint(join(own, 'checkpoint.json'), this.stored)
    await this.journal.close()
    await rm(join(own, journalName(former)))
    this.journal = await Journal.open(join(own, journalName(this.stored.journal)))
  }

  async close(): Promise<void> {
    await this.journal.close()
    await this.lock.release()
  }
}

async function writeCheckpoint(path: string, stored: StoredCheckpoint): Promise<void> {
  await replaceFile(path, [JSON.stringify(stored)])
  await syncDirectory(dirname(path))
}

/** Rewrites the file of a list with the changes. Deletes the file when the list has no records. */
async function applyChanges(path: string, changes: FileChanges, read: ReturnType<Journal['reader']>): Promise<void> {
  let count = 0
  async function* lines() {
    if (!changes.replaced) {
      for await (const { text } of readLines(path)) {
        const id = idOf(text, changes.list)
        // Drops a line without an id, because it is damaged.
        if (Number.isNaN(id) || changes.records.has(id)) continue
        yield text
        count += 1
      }
    }
    for (const place of changes.records.values()) {
      if (place === null) continue
      yield await read(place)
      count += 1
    }
  }
  await replaceFile(path, lines())
  if (count === 0) await rm(path)
}
