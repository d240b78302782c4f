/** Lets a sync continue a copy whose service has moved to another address. */
import { exitCodes, SyncError } from './errors.ts'
import { readIdentity } from './full-pass.ts'
import type { Sync } from './sync.ts'

/**
 * Writes the new address into the checkpoint when the same service, with the same data, is at that address. Also stores
 * the id of the service in a copy of an earlier version, which has no id.
 *
 * @param to the place of the copy, as messages name it
 * @param full true when the user has requested a full pass, which is necessary when the service has other data
 * @throws SyncError when another service, or a service with restored or copied data, is at the address
 */
export async function takeAddress(sync: Sync, to: string, full: boolean): Promise<void> {
  const { checkpoint, source, store, report } = sync
  const { copy } = checkpoint
  const isSame = copy?.source === source.url
  if (copy === null || (isSame && copy.service !== null)) return
  const found = await readIdentity(sync)
  if (isSame) {
    // Earlier versions did not store the id of the service. When the service has other data, the full pass stores the
    // id.
    if (found?.epoch === copy.epoch) await store.commit([], checkpoint.setCopy({ ...copy, service: found.serviceId }))
    return
  }
  const is = `${to} holds a copy of ${copy.source}, not of ${source.url}`
  if (found === null || found.serviceId !== copy.service) {
    throw new SyncError(exitCodes.usage, `${is}. Name another place with --to, or delete that copy.`)
  }
  if (found.epoch !== copy.epoch && !full) {
    const message = `${is}, which has data that were restored or copied from there. If the service has moved, run this command once with --full.`
    throw new SyncError(exitCodes.usage, message)
  }
  // A full pass stores the address and the new epoch in one commit. If a sync were killed between two commits, the copy
  // would keep the former epoch and get no full pass.
  if (!full) await store.commit([], checkpoint.setCopy({ ...copy, source: source.url }))
  report({ event: 'moved', from: copy.source, url: source.url })
}
