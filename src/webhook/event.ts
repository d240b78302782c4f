/** The events that endpoints receive (R36): each names a list of v1 that changed. */
import { createHash } from 'node:crypto'
import type { Try, Window } from '../domain/event/delivery.ts'
import { tenantRecords } from '../domain/tenant/tenant.ts'
import type { Permission } from '../domain/token/permission.ts'
import { findResource } from '../graphql/resource.ts'
import { v1Path } from '../http/paths.ts'
import { pathToBody } from '../rest/prepare-operation.ts'
import { v1 } from '../rest/v1/routes.ts'

/** A list of v1 for which events are sent. */
interface EventList {
  /** The type of the events of the list: `purchased_vouchers.changed`. */
  type: string
  /** The path below v1, with `:tenant` for the tenant. */
  path: string
  /** The permissions that a token needs to read the list. It needs all of them. */
  permissions: readonly Permission[]
}

/** The lists that have events, by the type of their records. */
const eventLists: ReadonlyMap<string, EventList> = new Map(
  v1.operations.flatMap(({ document, path }): [string, EventList][] => {
    const list = pathToBody(document).at(-1)?.name.value ?? ''
    const described = list === 'tenants' ? tenantRecords : findResource(list)
    if (!described) return []
    const type = `${list.replaceAll(/[A-Z]/g, capital => `_${capital.toLowerCase()}`)}.changed`
    return [[described.record, { type, path, permissions: described.permissions }]]
  }),
)

/** Returns the types of records whose lists a token with these permissions may read. */
export const permittedRecords = (held: readonly Permission[]): string[] =>
  [...eventLists]
    .filter(([, { permissions }]) => permissions.every(name => held.includes(name)))
    .map(([record]) => record)

export interface Message {
  /** All tries of a window have the same id. */
  id: string
  type: string
  body: string
}

/**
 * Returns the message for a window of a list.
 *
 * @param origin the origin at which the receiver reaches the service, such as `https://gateway.example.com`
 */
export function toMessage(
  origin: string,
  generation: number,
  { endpointId, tenantId, record, since, until }: Try,
): Message {
  const list = eventLists.get(record)
  if (!list) throw new Error(`There are no events of ${record}.`)
  const { type, path } = list
  const query = since === null ? '' : `?updated_since=${encodeURIComponent(since)}`
  const url = `${origin}${v1Path}${path.replace(':tenant', String(tenantId))}${query}`
  const event = { type, tenant_id: tenantId, updated_since: since, server_time: until, url }
  return { id: messageId([endpointId, generation, tenantId, record, since, until]), type, body: JSON.stringify(event) }
}

const messageId = (parts: readonly (Window[keyof Window] | number)[]) =>
  `evt_${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 27)}`
