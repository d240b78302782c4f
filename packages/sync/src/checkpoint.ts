/** The state of a copy, without its records, so that a sync resumes where the last one stopped (docs/guides/keeping-in-step.md). */

import { z } from 'zod'
import { type TenantListName, tenantListNames } from '#client'
import { exitCodes, SyncError } from './errors.ts'

const readingSchema = z.object({
  /** The bulk export, or the pages of v1. */
  via: z.enum(['export', 'pages']),
  /** The position at which to continue. */
  cursor: z.string(),
  /** The bound of the list when this reading is complete: the `server_time` of its first page. */
  until: z.string(),
  /** The `updated_at` of the last record, from where pages can continue an export. */
  newest: z.string().nullable(),
  /** The number of records that were read. */
  received: z.int(),
})

/** A reading of a list that has begun and not ended. */
export type ListReading = z.infer<typeof readingSchema>

const listStateSchema = z.object({
  /**
   * The number of readings from the beginning. When this reading is complete, records of former readings are deleted.
   */
  pass: z.int(),
  /** The `server_time` to resume from; null: read from the beginning. */
  bound: z.string().nullable(),
  reading: readingSchema.nullable(),
  /** True when the records of former passes are deleted. */
  swept: z.boolean(),
  /**
   * True when the token lacked the permission. Removals may have been missed since then, so the next pass starts from
   * the beginning.
   */
  refused: z.boolean(),
})

/** The position to which a list of a tenant is read. */
export type ListState = z.infer<typeof listStateSchema>

const tenantStateSchema = z.object({
  /** The position at which the removals of the tenant resume. */
  removals: z.object({ bound: z.string(), reading: readingSchema.pick({ cursor: true, until: true }).nullable() }),
  lists: z.partialRecord(z.enum(tenantListNames), listStateSchema),
})

/** The positions to which the lists and the removals of a tenant are read. */
export type TenantState = z.infer<typeof tenantStateSchema>

const changePositionSchema = z.object({
  /** A list that is read completely has all changes up to this `server_time`, even when its own bound is older. */
  after: z.string(),
  /** The `access` of the token at that time. */
  access: z.string(),
  /** The tenants and the lists that the sync had selected; null: all. */
  tenants: z.array(z.int()).nullable(),
  lists: z.array(z.enum(tenantListNames)).nullable(),
  /** The number of tenants of the copy at that time. */
  known: z.int(),
})

/** The position to which a copy has the changes that the service names. */
export type ChangePosition = z.infer<typeof changePositionSchema>

const copyStateSchema = z.object({
  /** The address of the service: cursors and times of another service are not valid here. */
  source: z.string(),
  /** The id of the service, the same at each of its addresses; null when it is not known. */
  service: z.string().nullable().default(null),
  /** The epoch at the start of the last full pass; null before the first one. */
  epoch: z.int().nullable(),
  /** Null when the service does not name changes, or was not asked yet. */
  changes: changePositionSchema.nullable().default(null),
})

/** The state of the whole copy. */
type CopyState = z.infer<typeof copyStateSchema>

/** The state of a list that was never read. */
export const newListState: ListState = { pass: 1, bound: null, reading: null, swept: false, refused: false }

/** Returns whether a list was read at all. */
export const hasBegun = ({ pass, bound, reading }: ListState): boolean => pass > 1 || bound !== null || reading !== null

/** Returns whether a list is read to its end: after that, only later changes are missing. */
export const isInStep = ({ bound, reading, swept, refused }: ListState): boolean =>
  bound !== null && reading === null && swept && !refused

/** Resets a list, so that it is read again from its beginning. */
export const restartList = (state: ListState, refused = false): ListState =>
  hasBegun(state) ? { ...newListState, pass: state.pass + 1, refused } : state

/** Changed positions by key; null deletes one. Values are JSON. */
export type Positions = ReadonlyMap<string, unknown>

const copyKey = 'copy'
const tenantPrefix = 'tenant/'

const tenantIdSchema = z
  .templateLiteral([tenantPrefix, z.int().positive()])
  .transform(key => Number(key.slice(tenantPrefix.length)))

/** Returns the key of a tenant's position. */
export const tenantKey = (tenantId: number): string => `${tenantPrefix}${tenantId}`

/** The checkpoint in memory: what the store holds, plus the changes of the commit that is under way. */
export class Checkpoint {
  /** Null for a copy that has no checkpoint yet. */
  copy: CopyState | null = null
  readonly tenants = new Map<number, TenantState>()

  /**
   * Reads the checkpoint that a store has kept.
   *
   * @throws SyncError when a position is invalid
   */
  constructor(stored: Positions) {
    for (const [key, value] of stored) {
      if (key === copyKey) this.copy = parse(copyStateSchema, key, value)
      else this.tenants.set(parse(tenantIdSchema, key, key), parse(tenantStateSchema, key, value))
    }
  }

  /** Returns the state of a tenant, with the position of the copy. @throws Error when it is not in the copy */
  tenant(tenantId: number): TenantState {
    const state = this.tenants.get(tenantId)
    if (!state) throw new Error(`Tenant ${tenantId} is not in the copy.`)
    const position = this.copy?.changes
    return position && (position.tenants?.includes(tenantId) ?? true) ? advance(state, position) : state
  }

  /** Writes the position of the copy into the states of its tenants, and drops it. @returns the changed positions */
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

  /** Leaves a list out of the copy. @returns the changed positions */
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
function advance({ removals, lists }: TenantState, { after, lists: selected }: ChangePosition): TenantState {
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

function parse<Value>(schema: z.ZodType<Value>, key: string, value: unknown): Value {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw unreadable(key, parsed.error)
}

/**
 * Makes the error of a file or a position that holds no checkpoint.
 *
 * @param name the position or the file
 */
export const unreadable = (name: string, cause: unknown): SyncError =>
  new SyncError(
    exitCodes.failed,
    `The checkpoint ${name} of this copy cannot be read: it was changed, or written by another version. ` +
      'Delete the copy, and run this command again.',
    { cause },
  )

/** Parses a position that a store keeps as JSON. @throws SyncError when the text is no JSON */
export function parsePosition(key: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw unreadable(key, error)
  }
}
