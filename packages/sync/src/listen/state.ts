/** Keeps the state of `listen` in a file. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { exitCodes, SyncError } from '../errors.ts'
import { type ListName, listNames } from '../lists.ts'
import { isMissing } from '../stores/own-file.ts'
import { keyOf } from './message.ts'

const stateSchema = z.object({
  /** The receiver has accepted all changes up to this position. */
  position: z.object({ serverTime: z.iso.datetime(), epoch: z.number(), access: z.string() }),
  /** The tenants and the lists that `listen` follows; empty: all. */
  tenants: z.array(z.number()),
  lists: z.array(z.enum(listNames)),
  /** The secret that `listen` has generated; null when the user has given a secret. */
  secret: z
    .string()
    .refine(secret => keyOf(secret) !== null)
    .nullable(),
})

/** The state with which `listen` continues after a restart. */
type ListenState = z.infer<typeof stateSchema>

/** The tenants and the lists that `listen` follows; empty: all. */
export type Selection = Pick<ListenState, 'tenants' | 'lists'>

function parseState(text: string): ListenState | undefined {
  try {
    return stateSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** Returns a selection with sorted tenants and lists, so that two equal selections have equal values. */
export const toSelection = (tenants: Iterable<number>, lists: Iterable<ListName>): Selection => ({
  tenants: [...new Set(tenants)].sort((a, b) => a - b),
  lists: [...new Set(lists)].sort(),
})

function describeSelection({ tenants, lists }: Selection): string {
  const [ofTenants, ofLists] = [tenants, lists].map(names => names.join(' '))
  return `${ofTenants ? `--tenant ${ofTenants}` : 'all tenants'} and ${ofLists ? `--list ${ofLists}` : 'all lists'}`
}

/**
 * Reads the state; null when there is no file yet.
 *
 * @throws SyncError when the file has no valid state, or the state of another selection
 */
export async function readState(file: string, selection: Selection): Promise<ListenState | null> {
  const text = await readFile(file, 'utf8').catch(error => {
    if (isMissing(error)) return null
    throw error
  })
  if (text === null) return null
  const state = parseState(text)
  if (!state) throw new SyncError(exitCodes.failed, `${file} holds no state of listen. Name another file with --state.`)
  const { tenants, lists } = state
  if (isDeepStrictEqual({ tenants, lists }, selection)) return state
  throw new SyncError(
    exitCodes.usage,
    `${file} was written for ${describeSelection(state)}. Use the same --tenant and --list, or name another file with --state.`,
  )
}

/**
 * Creates a function that writes states to the file one after another. At each moment the file contains a complete
 * state.
 */
export function createStateWriter(file: string) {
  let writing = Promise.resolve()
  /** The latest state that is not written yet. */
  let waiting: ListenState | null = null
  let problem: unknown = null

  async function writeLatest(): Promise<void> {
    const text = `${JSON.stringify(waiting)}\n`
    waiting = null
    await writeFile(`${file}.new`, text, { mode: 0o600, flush: true })
    await rename(`${file}.new`, file)
  }
  /** @throws the error of a failed write */
  function throwIfFailed(): void {
    if (problem) throw problem
  }

  return {
    throwIfFailed,
    write(state: ListenState): void {
      if (waiting === null) {
        writing = writing.then(writeLatest).catch(error => {
          problem = error
        })
      }
      waiting = state
    },
    async end(): Promise<void> {
      await writing
      throwIfFailed()
    },
  }
}
