import { formatNumberOf } from '../format.ts'

/**
 * The greatest age of figures without a notice, in seconds. A notice is due at 5, and the time of the answer is cut to
 * whole seconds.
 */
const usualLag = 4

interface LagNoticeProps {
  /** The stamp of the last step: the figures have all changes up to it. */
  asOf: string
  /** The time of the answer (`Reply.answeredAt`). Null: unknown, and the notice is not shown. */
  answeredAt: number | null
  reload(): void
}

/** Says that figures are old, as while no instance of the service makes steps. */
export function LagNotice({ asOf, answeredAt, reload }: LagNoticeProps) {
  const seconds = answeredAt === null ? 0 : (answeredAt - Date.parse(asOf)) / 1000
  if (seconds <= usualLag) return null
  const age =
    seconds < 120 ? formatNumberOf(Math.ceil(seconds), 'second') : formatNumberOf(Math.floor(seconds / 60), 'minute')
  return (
    <div class="warning failure" role="status">
      <p>These figures were {age} old when they were read: later changes are not in them yet.</p>
      <button type="button" class="secondary small" onClick={reload}>
        Read again
      </button>
    </div>
  )
}
