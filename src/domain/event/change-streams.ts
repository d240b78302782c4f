/**
 * Opens the streams of changed lists, limits the number of streams of a token, and checks the tokens of open streams.
 */
import { GatewayError, unauthenticated } from '../errors.ts'
import { type Changes, hashAccess } from '../record/list-changes.ts'
import type { Caller } from '../token/caller.ts'
import { ChangeStream, heartbeat, type StreamAccess, type StreamContext, type StreamRequest } from './change-stream.ts'
import { type HeadFeed, headFilter } from './head-feed.ts'

/** The maximum number of open streams of a token in one process. */
export const maxStreams = 10

/**
 * The interval at which the tokens are checked, in milliseconds. The directory caches a token for 500 ms, so the stream
 * of a revoked token ends within a second.
 */
const checkInterval = 250

/** The streams of a token in this process. */
interface Group extends StreamAccess {
  access: string
  streams: Set<ChangeStream>
}

export type ChangeStreams = ReturnType<typeof createChangeStreams>

/**
 * Returns an object that opens streams. All streams share the statements of the feed; the streams of a token share the
 * checks of the token.
 */
export function createChangeStreams(feed: HeadFeed) {
  const groups = new Map<number, Group>()
  let timer: NodeJS.Timeout | undefined

  async function check(group: Group): Promise<void> {
    const [stream] = group.streams
    const startedAt = performance.now()
    const lookup = await stream?.context.caller.lookUp()
    if (!lookup) return
    if (lookup.status !== 'active') {
      for (const each of group.streams) each.fail(unauthenticated())
      return
    }
    group.checkedAt = startedAt
    const { token } = lookup
    if (token === group.token) return
    group.token = token
    const access = hashAccess(token)
    if (access === group.access) return
    Object.assign(group, { access, includes: headFilter(token) })
    for (const each of group.streams) each.readAgain()
  }

  function tick(): void {
    for (const group of groups.values()) {
      // Ignores the error of an outage: the feed reports it, and the streams name no lists until a check succeeds.
      check(group).catch(() => {})
      for (const stream of group.streams) stream.wakeWhenDue()
    }
  }

  function join(caller: Caller): Group {
    const { token } = caller
    const group = groups.get(token.id) ?? {
      ...{ token, access: hashAccess(token), includes: headFilter(token) },
      ...{ checkedAt: performance.now(), streams: new Set() },
    }
    if (group.streams.size >= maxStreams) {
      const message = `This token has ${maxStreams} event streams open. Open the next one when another has ended.`
      throw new GatewayError('RATE_LIMITED', message, { retryAfter: Math.ceil(heartbeat / 1000) })
    }
    groups.set(token.id, group)
    timer ??= setInterval(tick, checkInterval).unref()
    return group
  }

  function leave(group: Group, stream: ChangeStream): void {
    group.streams.delete(stream)
    if (group.streams.size > 0) return
    groups.delete(group.token.id)
    if (groups.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    /**
     * Opens a stream. The caller must end the stream with `return`.
     *
     * @throws `RATE_LIMITED` when the token has too many streams, and the errors of a query of changes
     */
    async open(context: StreamContext, request: StreamRequest): Promise<AsyncIterableIterator<Changes>> {
      const group = join(context.caller)
      const stream = new ChangeStream(context, request, group, () => leave(group, stream))
      group.streams.add(stream)
      try {
        await stream.start(feed)
        return stream
      } catch (error) {
        await stream.return()
        throw error
      }
    },
  }
}
