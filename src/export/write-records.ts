/** Writes records that were read outside an operation in the form that an operation's document gives them. */

import { mapMaybePromise } from '../domain/maybe-promise.ts'
import type { RecordSelection } from '../executor/plan.ts'
import { resolveLevel } from '../executor/resolve.ts'
import { Answer, writeObject } from '../executor/serialize.ts'

const lineFeed = 0x0a

/**
 * Writes records as lines of JSON in UTF-8, each with its line feed.
 *
 * @param context the context value of the resolvers
 * @throws the error of the first field that has one
 */
export type WriteRecords = (context: unknown, records: readonly object[]) => Buffer | Promise<Buffer>

/** Returns a function that writes records as an operation writes the records of its list. */
export const writeRecordsOf =
  ({ plan, shared }: RecordSelection): WriteRecords =>
  (context, records) =>
    mapMaybePromise(
      resolveLevel(plan, records, { context, variables: {}, shared }, () => undefined),
      level => {
        const answer = new Answer()
        const { body, errors } = answer
        for (let place = 0; place < records.length; place++) {
          writeObject(answer, plan, level, place, 0)
          const [error] = errors
          if (error) throw error.originalError ?? error
          body.byte(lineFeed)
        }
        return body.finish()
      },
    )
