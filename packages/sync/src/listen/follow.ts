/** Follows the changes of a service for `listen`. */
import { setTimeout as pause } from 'node:timers/promises'
import type { ListChanges, VoucherGateway } from '#client'
import { accessDelay } from '../changes.ts'
import type { ListName } from '../lists.ts'
import { needsFullPass } from '../service-error.ts'

/**
 * The time up to which `listen` has read all changes, with the epoch of the service and the access of the token at that
 * time.
 */
export type Position = Pick<ListChanges, 'serverTime' | 'epoch' | 'access'>

interface FollowOptions {
  /** The position after which changes are read; null for changes from now on. */
  after: Position | null
  tenants: number[] | undefined
  lists: ListName[] | undefined
  signal: AbortSignal
}

/**
 * The changes since the previous result. When `wholeBecause` has a reason, `changes` names all lists, and the receiver
 * must read each list from its beginning.
 */
export interface Followed {
  changes: ListChanges
  wholeBecause: string | null
}

/**
 * Returns the reason, as a sentence, why the changes after a position are not complete; null when they are complete.
 */
function findGapReason(former: Position | null, { epoch, access }: Position): string | null {
  if (former === null || (former.epoch === epoch && former.access === access)) return null
  return former.epoch === epoch
    ? 'the token has other tenants or permissions'
    : 'the data were restored, so all copies must be rebuilt'
}

/**
 * Yields changes until the signal is aborted. Yields all lists when the epoch or the access has changed, or when the
 * position is too early.
 *
 * @param client a client that repeats each request until the service answers
 * @throws VoucherGatewayError when the service refuses the token, a tenant or a permission
 */
export async function* followChanges(
  client: VoucherGateway,
  { after: given, tenants, lists, signal }: FollowOptions,
): AsyncGenerator<Followed, void, undefined> {
  for (let position = given; ; ) {
    let wholeBecause: string | null = null
    try {
      for await (const changes of client.watchChanges({ after: position?.serverTime, tenants, lists, signal })) {
        wholeBecause = findGapReason(position, changes)
        if (wholeBecause !== null) break
        position = changes
        yield { changes, wholeBecause }
      }
      if (wholeBecause === null) return
    } catch (error) {
      if (!needsFullPass(error)) throw error
      wholeBecause = 'the removals since the last position are no longer complete'
    }
    await pause(accessDelay, undefined, { signal }).catch(() => {})
    const changes = signal.aborted ? null : await client.changes({ tenants, signal }).catch(nullWhenAborted)
    if (changes === null) return
    position = changes
    const isFollowed = ({ list }: { list: ListName }) => lists?.includes(list) ?? true
    yield { changes: { ...changes, lists: changes.lists.filter(isFollowed) }, wholeBecause }
  }

  /** @throws the error, unless the signal has ended the request */
  function nullWhenAborted(error: unknown): null {
    if (signal.aborted) return null
    throw error
  }
}
