/** Reads a copy in a directory without any change to its files. */

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { tenantListNames } from '#client'
import { type Positions, parsePosition, unreadableError } from '../checkpoint.ts'
import { exitCodes, SyncError } from '../errors.ts'
import type { ListName } from '../lists.ts'
import type { CopiedRecord, CopyReader, RecordCount } from '../store.ts'
import { fileOf, JournalContent } from './journal.ts'
import { readLines } from './lines.ts'
import { isMissing, openOwnFile } from './own-file.ts'

const checkpointSchema = z.object({
  /** The number of the journal that continues this checkpoint. */
  journal: z.int(),
  positions: z.record(z.string(), z.unknown()),
})

/** The content of the file `checkpoint.json`. */
export type StoredCheckpoint = z.infer<typeof checkpointSchema>

/** The name of the directory with the internal files of the sync, which users of the copy ignore. */
export const ownDirectory = '.sync'

/** Returns the file name of the journal with this number. */
export const journalName = (number: number): string => `journal-${number}.ndjson`

/**
 * Returns the file names in the directory of a copy; an empty list when the directory does not exist.
 *
 * @throws SyncError when the directory contains files but no copy
 */
export async function listCopy(path: string): Promise<string[]> {
  const found = await listNames(path)
  if (found.length === 0 || found.includes(ownDirectory)) return found
  throw new SyncError(
    exitCodes.usage,
    `The directory ${path} is not empty and holds no copy. Name another directory with --to.`,
  )
}

/**
 * Reads the checkpoint of a copy; an empty checkpoint when there is no file.
 *
 * @throws SyncError when the file has no valid checkpoint
 */
export async function readCheckpoint(path: string): Promise<StoredCheckpoint> {
  let text: string
  try {
    const file = await openOwnFile(path)
    text = await file.readFile('utf8').finally(() => file.close())
  } catch (error) {
    if (isMissing(error)) return { journal: 1, positions: {} }
    throw error
  }
  const parsed = checkpointSchema.safeParse(parsePosition(path, text))
  if (parsed.success) return parsed.data
  throw unreadableError(path, parsed.error)
}

/** Applies changed positions. */
export function applyPositions(stored: Positions, changes: Positions): Positions {
  const positions = new Map(stored)
  for (const [key, value] of changes) {
    if (value === null) positions.delete(key)
    else positions.set(key, value)
  }
  return positions
}

/**
 * Returns the id of the record in a line; NaN when the line has no id. Records of the service begin with the id (R14),
 * so their lines are not parsed.
 */
export function idOf(line: string, list: ListName): number {
  const key = list === 'tenants' ? 'tenant_id' : 'id'
  const beginning = `{"${key}":`
  if (line.startsWith(beginning)) return Number.parseInt(line.slice(beginning.length), 10)
  try {
    return Number(JSON.parse(line)[key])
  } catch {
    return Number.NaN
  }
}

/** The published files of a copy, and the journal of the current round. */
export abstract class CopyFiles {
  protected abstract readonly journal: JournalContent

  protected constructor(protected readonly path: string) {}

  /** Counts the records that the files will have when the journal is applied. */
  async counts(): Promise<RecordCount[]> {
    const counts: RecordCount[] = []
    for (const id of await this.ids('tenants', 0)) {
      if (!Number.isNaN(id)) counts.push({ list: 'tenants', tenantId: id, count: 1 })
    }
    for (const list of tenantListNames) {
      const names = await listNames(join(this.path, list))
      const tenants = new Set(names.map(name => Number(/^([1-9]\d*)\.ndjson$/.exec(name)?.[1])))
      for (const changes of this.journal.files.values()) if (changes.list === list) tenants.add(changes.tenantId)
      for (const tenantId of tenants) {
        const count = (await this.ids(list, tenantId)).length
        if (count > 0) counts.push({ list, tenantId, count })
      }
    }
    return counts
  }

  /** Returns the ids that a list will have when the journal is applied; NaN for a damaged line. */
  private async ids(list: ListName, tenantId: number): Promise<number[]> {
    const { replaced = false, records = new Map() } = this.journal.files.get(fileOf(list, tenantId)) ?? {}
    const ids = [...records].flatMap(([id, place]) => (place === null ? [] : [id]))
    if (replaced) return ids
    for await (const { id } of this.records(list, tenantId)) if (!records.has(id)) ids.push(id)
    return ids
  }

  /** Reads the records of a file. */
  async *records(list: ListName, tenantId: number): AsyncGenerator<CopiedRecord> {
    for await (const { text } of readLines(join(this.path, fileOf(list, tenantId)))) {
      yield { id: idOf(text, list), text }
    }
  }
}

/** Reads a copy in a directory, even while a sync writes it. */
export class DirectoryReader extends CopyFiles implements CopyReader {
  private constructor(
    path: string,
    readonly published: Positions,
    protected readonly journal: JournalContent,
  ) {
    super(path)
  }

  get positions(): Positions {
    return applyPositions(this.published, this.journal.positions)
  }

  /** Opens a copy. @returns null when there is no copy */
  static async open(path: string): Promise<DirectoryReader | null> {
    if ((await listCopy(path)).length === 0) return null
    const own = join(path, ownDirectory)
    const { journal, positions } = await readCheckpoint(join(own, 'checkpoint.json'))
    const content = await JournalContent.read(join(own, journalName(journal)))
    return new DirectoryReader(path, new Map(Object.entries(positions)), content)
  }

  async close(): Promise<void> {}
}

async function listNames(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
