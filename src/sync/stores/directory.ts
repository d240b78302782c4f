/**
 * A copy in a directory: one NDJSON file for each list of each tenant. Commits go to a journal; at the end of a round its
 * changes are put into the files, each of which is replaced whole.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Positions } from '../checkpoint.ts'
import { exitCodes, SyncError } from '../errors.ts'
import type { Change, Store } from '../store.ts'
import { type FileChanges, Journal, tenantFile } from './journal.ts'
import { isMissing, LineFile, readLines, syncDirectory, writeWhole } from './lines.ts'
import { type Lock, takeLock } from './lock.ts'
import { ensureOwnDirectory, openOwnFile, writing } from './own-file.ts'

const checkpointSchema = z.object({
  /** The number of the journal that continues this checkpoint. */
  journal: z.int(),
  positions: z.record(z.string(), z.unknown()),
})
type Stored = z.infer<typeof checkpointSchema>

/** The directory of what is not for readers. */
const ownDirectory = '.sync'

/** A copy in a directory. */
export class DirectoryStore implements Store {
  private constructor(
    private readonly path: string,
    private readonly lock: Lock,
    private stored: Stored,
    private journal: Journal,
  ) {}

  /**
   * Opens the copy, or begins one in a new or empty directory.
   *
   * @throws SyncError when the directory holds other things, or another process syncs to it
   */
  static async open(path: string): Promise<DirectoryStore> {
    const own = join(path, ownDirectory)
    const found: string[] = await readdir(path).catch(error => {
      if (isMissing(error)) return []
      throw error
    })
    if (found.length > 0 && !found.includes(ownDirectory)) {
      throw new SyncError(
        exitCodes.usage,
        `The directory ${path} is not empty and holds no copy. Name another one with --to.`,
      )
    }
    await mkdir(path, { recursive: true })
    await ensureOwnDirectory(own)
    const lock = await takeLock(join(own, 'lock'))
    try {
      const stored = await readCheckpoint(join(own, 'checkpoint.json'))
      // A journal of another number was left behind by a process that was killed while it published.
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
    const positions = new Map(Object.entries(this.stored.positions))
    for (const [key, value] of this.journal.positions) {
      if (value === null) positions.delete(key)
      else positions.set(key, value)
    }
    return positions
  }

  async commit(changes: readonly Change[], positions: Positions): Promise<void> {
    await this.lock.check()
    await this.journal.commit(changes, positions)
  }

  /** Killed in the middle, it is done again from the journal: each file then becomes the same once more. */
  async publish(): Promise<void> {
    await this.lock.check()
    const read = this.journal.reader()
    const directories = new Set<string>([this.path])
    for (const [name, changes] of this.journal.files) {
      const path = join(this.path, name)
      if (name !== tenantFile) await ensureOwnDirectory(dirname(path))
      directories.add(dirname(path))
      await applyChanges(path, changes, read, name === tenantFile ? 'tenant_id' : 'id')
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

const journalName = (number: number) => `journal-${number}.ndjson`

async function readCheckpoint(path: string): Promise<Stored> {
  let text: string
  try {
    const file = await openOwnFile(path)
    text = await file.readFile('utf8').finally(() => file.close())
  } catch (error) {
    if (isMissing(error)) return { journal: 1, positions: {} }
    throw error
  }
  return checkpointSchema.parse(JSON.parse(text))
}

async function writeCheckpoint(path: string, stored: Stored): Promise<void> {
  const file = await openOwnFile(`${path}.tmp`, writing)
  try {
    await writeWhole(file, Buffer.from(JSON.stringify(stored)), null)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.tmp`, path)
  await syncDirectory(dirname(path))
}

/** Returns the id of a record. Those of the service begin with it (R14), and need not be parsed. */
function idOf(line: string, key: 'id' | 'tenant_id'): number {
  const beginning = `{"${key}":`
  if (line.startsWith(beginning)) return Number.parseInt(line.slice(beginning.length), 10)
  return Number(JSON.parse(line)[key])
}

/** Replaces a file by one with the changes. A list without records has no file. */
async function applyChanges(
  path: string,
  changes: FileChanges,
  read: ReturnType<Journal['reader']>,
  key: 'id' | 'tenant_id',
): Promise<void> {
  const file = await LineFile.create(path)
  let count = 0
  try {
    if (!changes.replaced) {
      for await (const { text } of readLines(path)) {
        if (changes.records.has(idOf(text, key))) continue
        await file.add(text)
        count += 1
      }
    }
    for (const place of changes.records.values()) {
      if (place === null) continue
      // A copy, because the bytes are valid only until the next record is read.
      await file.add(Buffer.from(await read(place)))
      count += 1
    }
  } catch (error) {
    await file.abandon()
    throw error
  }
  await file.replace()
  if (count === 0) await rm(path)
}
