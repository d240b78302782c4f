import { formatNumberOf } from '../format.ts'

/**
 * The greatest age of figures without a notice, in seconds. The notice should appear after 5 seconds, and the time of
 * the answer has whole seconds only.
 */
const usualLag = 4

interface LagNoticeProps {
  /** The stamp of the last step: the figures have all changes up to it. */
  asOf: string
  /** The time of the answer (`Reply.answeredAt`). Null: unknown, and the notice is not shown. */
  answeredAt: number | null
  reload(): void
}

/** Says that the figures are old, for example because no instance of the service makes steps. */
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
