/** The errors and the exit codes of a sync. */

/** The exit codes of `sync`. */
export const exitCodes = {
  /** The copy is in step, or a watch was stopped. */
  inStep: 0,
  /** The copy cannot be written, or another error occurred. */
  failed: 1,
  /** The command was used wrongly. */
  usage: 2,
  /** The service refuses the token, a tenant or a permission. */
  refused: 3,
  /** The service cannot be reached, or cannot answer now. */
  unreachable: 4,
  /** The copy differs from the service (`--verify`). */
  differs: 5,
  /** Another sync uses the copy. */
  inUse: 6,
  /** A list of the copy was not read to its end (`--status`). */
  unfinished: 7,
  /** A signal stopped the sync before the copy was in step. */
  interrupted: 130,
} as const

/** An error that ends a sync with a specific exit code. */
export class SyncError extends Error {
  override readonly name = 'SyncError'

  /** @param message a sentence for the person who runs the sync */
  constructor(
    readonly exitCode: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Returns the error of a sync whose copy another sync has taken over. */
export const takenOverError = (): SyncError =>
  new SyncError(exitCodes.inUse, 'Another sync has opened this copy, so this one stops. Run one sync for each copy.')

/**
 * Returns the error of a sync whose copy another sync uses.
 *
 * @param other describes the other sync, as the start of a sentence
 */
export const inUseError = (other: string): SyncError =>
  new SyncError(exitCodes.inUse, `${other} syncs to this copy already. Stop it first, or wait until it has ended.`)
