/** The state of a copy, without its records, from which the next sync resumes (docs/guides/keeping-in-step.md). */

import { z } from 'zod'
import { type TenantListName, tenantListNames } from '#client'
import { exitCodes, SyncError } from './errors.ts'

const readingSchema = z.object({
  /** `export` reads the bulk export, `pages` the pages of v1. */
  via: z.enum(['export', 'pages']),
  /** The cursor after the last stored page or chunk. */
  cursor: z.string(),
  /** The `server_time` of the first page. It becomes the bound of the list when this reading is complete. */
  until: z.string(),
  /** The `updated_at` of the last record. Pages can continue an interrupted export from this time. */
  newest: z.string().nullable(),
  /** The number of records that this reading has stored. */
  received: z.int(),
})

/** A reading of a list that is not complete. */
export type ListReading = z.infer<typeof readingSchema>

const listStateSchema = z.object({
  /**
   * How many times the list was read from its beginning. When a pass is complete, records that only earlier passes
   * stored are deleted.
   */
  pass: z.int(),
  /** The `server_time` to resume from; null when the list must be read from its beginning. */
  bound: z.string().nullable(),
  reading: readingSchema.nullable(),
  /** True when the records of earlier passes have been deleted. */
  swept: z.boolean(),
  /**
   * True when the token lost the permission for the list. The sync may have missed removals since then, so the next
   * pass starts from the beginning.
   */
  refused: z.boolean(),
})

/** The state of one list of one tenant: the position of the sync, and the open reading. */
export type ListState = z.infer<typeof listStateSchema>

const tenantStateSchema = z.object({
  /** The time and the cursor from which the next round reads the removals of the tenant. */
  removals: z.object({ bound: z.string(), reading: readingSchema.pick({ cursor: true, until: true }).nullable() }),
  lists: z.partialRecord(z.enum(tenantListNames), listStateSchema),
})

/** The states of the lists and of the removals of one tenant. */
export type TenantState = z.infer<typeof tenantStateSchema>

const changePositionSchema = z.object({
  /**
   * Each list whose reading is complete has all changes up to this `server_time`, even when the bound of the list is
   * older.
   */
  after: z.string(),
  /** The `access` of the token at the time `after`. */
  access: z.string(),
  /** The tenants and the lists that the user had selected; null for all. */
  tenants: z.array(z.int()).nullable(),
  lists: z.array(z.enum(tenantListNames)).nullable(),
  /** The number of tenants of the copy at the time `after`. */
  known: z.int(),
})

/** The time up to which the copy has all changes, with the conditions under which this time is valid. */
export type ChangePosition = z.infer<typeof changePositionSchema>

const copyStateSchema = z.object({
  /** The address of the service. Cursors and times of one service are not valid for another. */
  source: z.string(),
  /** The id of the service, which is the same at all its addresses; null when the id is unknown. */
  service: z.string().nullable().default(null),
  /** The epoch of the service at the start of the last full pass; null before the first full pass. */
  epoch: z.int().nullable(),
  /** Null when the service cannot answer `changes`, or before the first request for changes. */
  changes: changePositionSchema.nullable().default(null),
})

/** The part of the checkpoint that does not belong to one tenant. */
type CopyState = z.infer<typeof copyStateSchema>

/** The state of a list before its first reading. */
export const newListState: ListState = { pass: 1, bound: null, reading: null, swept: false, refused: false }

/** Returns whether at least one page of a list was read. */
export const hasBegun = ({ pass, bound, reading }: ListState): boolean => pass > 1 || bound !== null || reading !== null

/** Returns whether a list was read to its end, so that the copy lacks only later changes. */
export const isInStep = ({ bound, reading, swept, refused }: ListState): boolean =>
  bound !== null && reading === null && swept && !refused

/** Returns the state of a list that the next round must read from its beginning. */
export const restartList = (state: ListState, refused = false): ListState =>
  hasBegun(state) ? { ...newListState, pass: state.pass + 1, refused } : state

/** The changed positions by key; null deletes the position. Values are JSON. */
export type Positions = ReadonlyMap<string, unknown>

const copyKey = 'copy'
const tenantPrefix = 'tenant/'

const tenantIdSchema = z
  .templateLiteral([tenantPrefix, z.int().positive()])
  .transform(key => Number(key.slice(tenantPrefix.length)))

/** Returns the key of a tenant's position. */
export const tenantKey = (tenantId: number): string => `${tenantPrefix}${tenantId}`

/** The checkpoint in memory: the stored checkpoint, plus the changes that the next commit will store. */
export class Checkpoint {
  /** Null for a copy that has no checkpoint yet. */
  copy: CopyState | null = null
  readonly tenants = new Map<number, TenantState>()

  /**
   * Reads the checkpoint of a store.
   *
   * @throws SyncError when a position is invalid
   */
  constructor(stored: Positions) {
    for (const [key, value] of stored) {
      if (key === copyKey) this.copy = parseWithSchema(copyStateSchema, key, value)
      else this.tenants.set(parseWithSchema(tenantIdSchema, key, key), parseWithSchema(tenantStateSchema, key, value))
    }
  }

  /** Returns the state of a tenant, with the position of the copy. @throws Error when the tenant is not in the copy */
  tenant(tenantId: number): TenantState {
    const state = this.tenants.get(tenantId)
    if (!state) throw new Error(`Tenant ${tenantId} is not in the copy.`)
    const position = this.copy?.changes
    return position && (position.tenants?.includes(tenantId) ?? true) ? advanceTenant(state, position) : state
  }

  /**
   * Writes the position of the copy into the states of all tenants, and deletes it from the state of the copy.
   *
   * @returns the changed positions
   */
  settle(): Positions {
    if (!this.copy?.changes) return new Map()
    const tenants = [...this.tenants.keys()].flatMap(tenantId => [...this.setTenant(tenantId, this.tenant(tenantId))])
    return new Map([...tenants, ...this.setCopy({ ...this.copy, changes: null })])
  }

  /** Returns the state of a list. */
  list(tenantId: number, list: TenantListName): ListState {
    return this.tenant(tenantId).lists[list] ?? newListState
  }

  /** Sets the state of the whole copy. @returns the changed positions */
  setCopy(state: CopyState): Positions {
    this.copy = state
    return new Map([[copyKey, state]])
  }

  /** Sets the state of a tenant. @returns the changed positions */
  setTenant(tenantId: number, state: TenantState): Positions {
    this.tenants.set(tenantId, state)
    return new Map([[tenantKey(tenantId), state]])
  }

  /** Sets the state of a list. @returns the changed positions */
  setList(tenantId: number, list: TenantListName, state: ListState): Positions {
    const tenant = this.tenant(tenantId)
    return this.setTenant(tenantId, { ...tenant, lists: { ...tenant.lists, [list]: state } })
  }

  /** Removes the state of a list, so that the copy no longer includes the list. @returns the changed positions */
  leaveOut(tenantId: number, list: TenantListName): Positions {
    const { [list]: _, ...lists } = this.tenant(tenantId).lists
    return this.setTenant(tenantId, { ...this.tenant(tenantId), lists })
  }

  /** Drops tenants. @returns the changed positions */
  dropTenants(tenantIds: readonly number[]): Positions {
    for (const tenantId of tenantIds) this.tenants.delete(tenantId)
    return new Map(tenantIds.map(tenantId => [tenantKey(tenantId), null]))
  }
}

/** Returns the state of a tenant that has all changes up to a position. */
function advanceTenant({ removals, lists }: TenantState, { after, lists: selected }: ChangePosition): TenantState {
  const later = (bound: string) => (bound > after ? bound : after)
  const advanced = Object.entries(lists).map(([name, state]) => {
    const isCovered = selected?.some(list => list === name) ?? true
    return [name, isCovered && isInStep(state) ? { ...state, bound: later(state.bound ?? after) } : state]
  })
  return {
    removals: removals.reading ? removals : { ...removals, bound: later(removals.bound) },
    lists: Object.fromEntries(advanced),
  }
}

function parseWithSchema<Value>(schema: z.ZodType<Value>, key: string, value: unknown): Value {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw unreadableError(key, parsed.error)
}

/**
 * Returns the error for a file or a position that contains no valid checkpoint.
 *
 * @param name the position or the file
 */
export const unreadableError = (name: string, cause: unknown): SyncError =>
  new SyncError(
    exitCodes.failed,
    `The checkpoint ${name} of this copy cannot be read: it was changed, or written by another version. ` +
      'Delete the copy, and run this command again.',
    { cause },
  )

/** Parses a position that a store has saved as JSON. @throws SyncError when the text is not valid JSON */
export function parsePosition(key: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw unreadableError(key, error)
  }
}
