/** Continues a copy when its service has moved to another address. */
import { exitCodes, SyncError } from './errors.ts'
import { readIdentity } from './full-pass.ts'
import type { Sync } from './sync.ts'

/**
 * Takes the address over when the service there is the one of the copy, with the same data. A copy that lacks the id of
 * its service gets it.
 *
 * @param to the place of the copy, as messages name it
 * @param full true when the user lets all lists be read again, which other data need
 * @throws SyncError when another service, or data that were restored or copied, are at the address
 */
export async function takeAddress(sync: Sync, to: string, full: boolean): Promise<void> {
  const { checkpoint, source, store, report } = sync
  const { copy } = checkpoint
  const isSame = copy?.source === source.url
  if (copy === null || (isSame && copy.service !== null)) return
  const found = await readIdentity(sync)
  if (isSame) {
    // Earlier versions did not store the id. Other data get a full pass, which stores it.
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
  // A full pass stores the address together with the new epoch. Otherwise a sync that is killed in between would keep
  // the former epoch, and miss the pass.
  if (!full) await store.commit([], checkpoint.setCopy({ ...copy, source: source.url }))
  report({ event: 'moved', from: copy.source, url: source.url })
}
