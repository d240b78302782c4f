/**
 * The channels on which the service publishes what it does, for metrics and traces (`node:diagnostics_channel`). Publishers make
 * nothing while a channel has no subscriber.
 *
 * Work has a tracing channel: its message is one object, published on `start` in the async context of its caller, within which the
 * work runs (`bindStore`), and on `asyncEnd` with the properties that are optional here, when the work has ended, failed or not.
 */
import { type Channel, type ChannelListener, tracingChannel } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders } from 'node:http'

/** A request, from its head to the end of its answer. */
export interface RequestWork {
  readonly method: string
  /** The path of the route with the names of its parameters; undefined: no route has the path. */
  readonly route: string | undefined
  /** The operation of the route, or its path; `unknown` without a route. */
  readonly operation: string
  readonly headers: IncomingHttpHeaders
  /** 499 when the caller left before the answer. */
  status?: number
  seconds?: number
  /** The codes of its errors; absent without errors. */
  errors?: ReadonlySet<string>
  /** Quota units (R28), when the request had an active token. */
  quota?: { spent: number; refused: number }
}

/** An operation of GraphQL or v1, from its first resolver to its answer. */
export interface OperationWork {
  readonly type: 'query' | 'mutation' | 'subscription'
  /** The name in the document: a text of the caller, except for v1. */
  readonly name: string | undefined
  error?: unknown
}

/** A pool of connections. */
export interface PoolUse {
  readonly name: string
  /** The maximum number of connections in the pool. */
  readonly connections: number
  /** Statements that are sent, or that wait in the driver. */
  busy: number
}

/** A statement, from its caller to its rows. Statements of transactions are not published. */
export interface StatementWork {
  /** The name in its leading comment, such as `voucher.list`; null without one. */
  readonly name: string | null
  readonly pool: PoolUse
  /** The time in the queue; absent when it was sent immediately. */
  secondsWaited?: number
  /** The time from when it was sent to its rows; absent when it was not sent. */
  seconds?: number
  error?: unknown
}

/** A step, or an attempt to make one. */
export interface StepWork {
  /** In milliseconds since 1970. */
  readonly startedAt: number
  /** `keys`: null in the first fill. `more`: whether more keys wait; null: there was none to evaluate. */
  result?: { keys: number | null; more: boolean | null }
  error?: unknown
}

/** A bulk export, from its first line to the end of its connection. */
export interface ExportWork {
  /** `complete`, `abandoned` by its reader, or the code of the error that ended it. */
  outcome?: string
}

/** A sign-in of an administrator that was refused. */
interface RefusedSignIn {
  readonly reason: 'wrong_password' | 'too_many_attempts' | `openid_${'provider' | 'stranger' | 'account'}`
}

export const requestChannel = tracingChannel<unknown, RequestWork>('voucher-gateway:request')
export const operationChannel = tracingChannel<unknown, OperationWork>('voucher-gateway:operation')
export const statementChannel = tracingChannel<unknown, StatementWork>('voucher-gateway:statement')
export const stepChannel = tracingChannel<unknown, StepWork>('voucher-gateway:step')
export const exportChannel = tracingChannel<unknown, ExportWork>('voucher-gateway:export')
// Events: they have no end. Only the channels of a tracing channel have types.
/** A request that Node's parser refused with this code: no route sees it. */
export const { start: unparsedRequestChannel } = tracingChannel<unknown, { code: string }>(
  'voucher-gateway:unparsed-request',
)
export const { start: refusedSignInChannel } = tracingChannel<unknown, RefusedSignIn>('voucher-gateway:refused-sign-in')
/** A source whose triggers were put right. */
export const { start: repairedCaptureChannel } = tracingChannel<unknown, { source: string }>(
  'voucher-gateway:repaired-capture',
)

/** Subscribes to a channel. The types of Node lack the type of its messages, which this file publishes. */
export const subscribe = <Message>(channel: Channel<unknown, Message>, listener: (message: Message) => void): void =>
  channel.subscribe(listener as ChannelListener)
