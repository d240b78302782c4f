import { exitCodes, SyncError } from '../errors.ts'

/** Makes the error of a sync whose copy another sync has opened meanwhile. */
export const takenOver = (): SyncError =>
  new SyncError(exitCodes.failed, 'Another sync has opened this copy, so this one stops. Run one sync for each copy.')
