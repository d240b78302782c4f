import { exitCodes, SyncError } from '../errors.ts'

/** Makes the error of a sync whose copy another sync has taken over. */
export const takenOver = (): SyncError =>
  new SyncError(exitCodes.inUse, 'Another sync has opened this copy, so this one stops. Run one sync for each copy.')

/** Makes the error of a sync whose copy another sync uses. @param other the other sync, as the start of a sentence */
export const inUse = (other: string): SyncError =>
  new SyncError(exitCodes.inUse, `${other} syncs to this copy already. Stop it first, or wait until it has ended.`)
