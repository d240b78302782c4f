/**
 * The journal of a directory, with one line per change, and one line per commit, which contains the positions. Lines
 * after the last commit are not committed, so `open` removes them.
 *
 * The files of the lists are rewritten only once per round, because rewriting them for each page would copy the whole
 * list each time. A commit only appends to the journal, in one write.
 */
import type { FileHandle } from 'node:fs/promises'
import { z } from 'zod'
import type { Positions } from '../checkpoint.ts'
import { type ListName, listNames } from '../lists.ts'
import { escapeLineEnds } from '../sentence.ts'
import type { Change } from '../store.ts'
import { readLines } from './lines.ts'
import { appendFlags, openOwnFile, rethrowWithPath } from './own-file.ts'

/** The byte range of a record in the journal. */
interface RecordPosition {
  offset: number
  length: number
  pass: number
}

/** The changes that a journal contains for the file of one list of one tenant. */
export interface FileChanges {
  list: ListName
  tenantId: number
  /** True when the changes deleted all records of the published file. */
  replaced: boolean
  /** The byte ranges of the changed records by id, in the order of the journal; null for a removed record. */
  records: Map<number, RecordPosition | null>
}

const listSchema = z.enum(listNames)
const idSchema = z.int().positive()
const passSchema = z.int().nonnegative()
const entrySchema = z.union([
  z.tuple([z.literal('put'), listSchema, idSchema, passSchema, idSchema, z.unknown()]),
  z.tuple([z.literal('remove'), listSchema, idSchema, idSchema]),
  z.tuple([z.literal('drop'), idSchema]),
  z.tuple([z.literal('sweep'), listSchema, idSchema, passSchema]),
  z.tuple([z.literal('commit'), z.record(z.string(), z.unknown())]),
])
type Entry = z.infer<typeof entrySchema>

/** The file of the list of tenants, as a path relative to the directory of the copy. */
const tenantFile = 'tenants.ndjson'

/** Returns the path of the file of a list, relative to the directory of the copy. */
export const fileOf = (list: ListName, tenantId: number): string =>
  list === 'tenants' ? tenantFile : `${list}/${tenantId}.ndjson`

/** The committed part of a journal, which can be read while another process writes the journal. */
export class JournalContent {
  /** Changed files by name. */
  readonly files = new Map<string, FileChanges>()
  /** The changed positions by key; null for a deleted position. */
  readonly positions = new Map<string, unknown>()
  protected length = 0

  /** Reads a journal without any change to its file. A missing journal counts as empty. */
  static async read(path: string): Promise<JournalContent> {
    const content = new JournalContent()
    await content.load(path)
    return content
  }

  protected async load(path: string): Promise<void> {
    let waiting: { entry: Entry; position: Omit<RecordPosition, 'pass'> }[] = []
    for await (const { text, offset, end } of readLines(path)) {
      const entry = parseEntry(text)
      // An incomplete line is always the last one, after the last commit.
      if (!entry) break
      const prefix = entry[0] === 'put' ? createPutPrefix(entry[1], entry[2], entry[3], entry[4]).length : 0
      waiting.push({ entry, position: { offset: offset + prefix, length: end - offset - prefix - 2 } })
      if (entry[0] !== 'commit') continue
      for (const { entry, position } of waiting) this.apply(entry, position)
      waiting = []
      this.length = end
    }
  }

  private changesOf(list: ListName, tenantId: number): FileChanges {
    const name = fileOf(list, tenantId)
    const known = this.files.get(name)
    if (known) return known
    const created = { list, tenantId, replaced: false, records: new Map() }
    this.files.set(name, created)
    return created
  }

  protected apply(entry: Entry, position: Omit<RecordPosition, 'pass'>): void {
    switch (entry[0]) {
      case 'put': {
        const { records } = this.changesOf(entry[1], entry[2])
        // Deletes the entry first, so that the map keeps the order of the file.
        records.delete(entry[4])
        records.set(entry[4], { ...position, pass: entry[3] })
        return
      }
      case 'remove':
        this.changesOf(entry[1], entry[2]).records.set(entry[3], null)
        return
      case 'drop':
        this.changesOf('tenants', entry[1]).records.set(entry[1], null)
        for (const name of listNames) {
          if (name === 'tenants') continue
          const changes = this.changesOf(name, entry[1])
          changes.replaced = true
          changes.records.clear()
        }
        return
      case 'sweep': {
        const changes = this.changesOf(entry[1], entry[2])
        changes.replaced = true
        for (const [id, kept] of changes.records) {
          if (kept === null || kept.pass < entry[3]) changes.records.delete(id)
        }
        return
      }
      case 'commit':
        for (const [key, value] of Object.entries(entry[1])) this.positions.set(key, value)
    }
  }
}

/** A journal to which this process appends commits. */
export class Journal extends JournalContent {
  private constructor(
    private readonly path: string,
    private readonly file: FileHandle,
  ) {
    super()
  }

  /** Opens a journal, reads its commits, and removes uncommitted lines from its end. */
  static async open(path: string): Promise<Journal> {
    const journal = new Journal(path, await openOwnFile(path, appendFlags))
    await journal.load(path)
    await journal.file.truncate(journal.length)
    return journal
  }

  get isEmpty(): boolean {
    return this.length === 0
  }

  /** Appends changes and positions to the file, and resolves when the disk has them (fsync). */
  async commit(changes: readonly Change[], positions: Positions): Promise<void> {
    const parts: string[] = []
    const entries: { entry: Entry; position: Omit<RecordPosition, 'pass'> }[] = []
    let size = this.length
    const add = (entry: Entry, prefix: string, body: string, suffix: string) => {
      const bodyLength = Buffer.byteLength(body)
      entries.push({ entry, position: { offset: size + prefix.length, length: bodyLength } })
      parts.push(prefix, body, suffix)
      size += prefix.length + bodyLength + suffix.length
    }
    const addPlain = (entry: Entry) => add(entry, '', JSON.stringify(entry), '\n')
    for (const change of changes) {
      if (change.kind === 'put') {
        const { list, tenantId, pass, records } = change
        for (const { id, record } of records) {
          const body = escapeLineEnds(JSON.stringify(record))
          add(['put', list, tenantId, pass, id, null], createPutPrefix(list, tenantId, pass, id), body, ']\n')
        }
      } else if (change.kind === 'remove') {
        for (const id of change.ids) addPlain(['remove', change.list, change.tenantId, id])
      } else if (change.kind === 'drop') addPlain(['drop', change.tenantId])
      else addPlain(['sweep', change.list, change.tenantId, change.pass])
    }
    addPlain(['commit', Object.fromEntries(positions)])
    await this.file.writeFile(parts.join('')).catch(rethrowWithPath(this.path))
    await this.file.datasync().catch(rethrowWithPath(this.path))
    this.length = size
    for (const { entry, position } of entries) this.apply(entry, position)
  }

  /**
   * Returns a function that reads the text of a record. The function buffers a part of the file, so call it for the
   * records in the order of the file.
   */
  reader(): (position: RecordPosition) => Promise<Buffer> {
    let buffer: Buffer = Buffer.alloc(0)
    let start = 0
    return async ({ offset, length }) => {
      if (offset < start || offset + length > start + buffer.length) {
        const size = Math.max(length, Math.min(1 << 20, this.length - offset))
        const bytes = Buffer.allocUnsafe(size)
        const { bytesRead } = await this.file.read(bytes, 0, size, offset)
        if (bytesRead < length) throw new Error('The journal of this copy is shorter than it was.')
        start = offset
        buffer = bytes.subarray(0, bytesRead)
      }
      return buffer.subarray(offset - start, offset - start + length)
    }
  }

  async close(): Promise<void> {
    await this.file.close()
  }
}

/**
 * Returns the start of a record's line, up to the JSON of the record. The start is always ASCII, so its characters are
 * bytes.
 */
const createPutPrefix = (list: ListName, tenantId: number, pass: number, id: number) =>
  `${JSON.stringify(['put', list, tenantId, pass, id]).slice(0, -1)},`

function parseEntry(text: string): Entry | null {
  try {
    return entrySchema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
