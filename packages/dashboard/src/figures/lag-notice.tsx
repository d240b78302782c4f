import { formatNumberOf } from '../format.ts'
import type { Answer } from '../use-answer.ts'

/**
 * The maximum age of figures without a notice, in seconds. The notice should appear after 5 seconds; one more second is
 * allowed because the time of the answer has only whole seconds.
 */
const maxLag = 4

type Timed = Pick<Answer<unknown, unknown>, 'answeredAt' | 'reload'>

/**
 * Says that the figures are old, for example because no instance of the service runs the steps that update them.
 *
 * @param props.asOf the time up to which the figures include all changes
 * @param props.answer the answer with the figures; without a known `answeredAt` the notice is not shown
 */
export function LagNotice({ asOf, answer: { answeredAt, reload } }: { asOf: string; answer: Timed }) {
  const seconds = answeredAt === null ? 0 : (answeredAt - Date.parse(asOf)) / 1000
  if (seconds <= maxLag) return null
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
