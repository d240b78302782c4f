import type { Instant } from '../../domain/instant.ts'
import { formatTimestamp } from './format.ts'

/** An instant as a `<time>` element, readable for people and for programs. */
export const Timestamp = ({ at }: { at: Instant | Date }) => (
  <time datetime={new Date(at).toISOString()}>{formatTimestamp(at)}</time>
)
