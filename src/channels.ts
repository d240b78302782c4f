/**
 * The channels on which the service publishes its work, for metrics and traces (`node:diagnostics_channel`). Publishers
 * do nothing while a channel has no subscriber.
 *
 * Work with a duration has a tracing channel, and one object as its message. The object is published on `start`, in the
 * async context in which the work runs (`bindStore`). It is published again on `asyncEnd`, with its optional properties
 * set, when the work has ended or failed.
 */
import { type Channel, type ChannelListener, tracingChannel } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders } from 'node:http'

/** A request, from the arrival of its head to the end of its answer. */
export interface RequestWork {
  readonly method: string
  /** The path of the route with the names of its parameters; undefined without a route. */
  readonly route: string | undefined
  /** The operation of the route, or the path of the route; `unknown` without a route. */
  operation: string
  readonly headers: IncomingHttpHeaders
  /** The HTTP status; 499 when the caller disconnected before the answer. */
  status?: number
  seconds?: number
  /** The codes of the errors in the answer; undefined without errors. */
  errors?: ReadonlySet<string>
  /** Quota units (R28), when the request had an active token. */
  quota?: { spent: number; refused: number }
}

/** An operation of GraphQL or v1, from the call of its first resolver to its answer. */
export interface OperationWork {
  readonly type: 'query' | 'mutation' | 'subscription'
  /** The name in the document, which the caller chooses except in v1. */
  readonly name: string | undefined
  error?: unknown
}

export interface PoolUse {
  readonly name: string
  readonly connections: number
  /** The number of statements that were sent or that wait in the driver. */
  busy: number
}

/** One SQL statement, from the call until its rows arrive. Statements of transactions are not published. */
export interface StatementWork {
  /** The name in the statement's leading comment, such as `voucher.list`; null without a comment. */
  readonly name: string | null
  readonly pool: PoolUse
  /** The time that the statement waited in the queue; undefined when it was sent immediately. */
  secondsWaited?: number
  /**
   * The time from the sending of the statement to the arrival of its rows; undefined when the statement was not sent.
   */
  seconds?: number
  error?: unknown
}

/** A step of the background job that writes records, or a failed attempt to make a step. */
export interface StepWork {
  /** The start of the work, in milliseconds since 1970. */
  readonly startedAt: number
  /**
   * `keys` is the number of evaluated keys, or null in the first fill. `more` is true when more keys wait, and null
   * when there was no key to evaluate.
   */
  result?: { keys: number | null; more: boolean | null }
  error?: unknown
}

/** A bulk export, from its first line to the end of the connection. */
export interface ExportWork {
  /** `complete`; `abandoned` when the reader disconnected; or the code of the error that ended the export. */
  outcome?: string
}

interface RefusedSignIn {
  readonly reason: 'wrong_password' | 'too_many_attempts' | `openid_${'provider' | 'stranger' | 'account'}`
}

interface WebhookTry {
  /** `refused`: the receiver answered with an error; `failed`: no answer arrived. */
  readonly result: 'delivered' | 'refused' | 'failed'
  /** The time from the `server_time` of the event to the answer. */
  readonly seconds: number
}

export const requestChannel = tracingChannel<unknown, RequestWork>('voucher-gateway:request')
export const operationChannel = tracingChannel<unknown, OperationWork>('voucher-gateway:operation')
export const statementChannel = tracingChannel<unknown, StatementWork>('voucher-gateway:statement')
export const stepChannel = tracingChannel<unknown, StepWork>('voucher-gateway:step')
/** An event stream, until its connection is closed. */
export const streamChannel = tracingChannel<unknown, object>('voucher-gateway:stream')
export const exportChannel = tracingChannel<unknown, ExportWork>('voucher-gateway:export')
// Events without a duration use the `start` of a tracing channel, because Node's type of `channel()` has no message
// type.
/** A request that Node's parser refused with this code. No route sees such a request. */
export const { start: unparsedRequestChannel } = tracingChannel<unknown, { code: string }>(
  'voucher-gateway:unparsed-request',
)
export const { start: refusedSignInChannel } = tracingChannel<unknown, RefusedSignIn>('voucher-gateway:refused-sign-in')
export const { start: webhookChannel } = tracingChannel<unknown, WebhookTry>('voucher-gateway:webhook')
/** A source whose triggers were repaired. */
export const { start: repairedCaptureChannel } = tracingChannel<unknown, { source: string }>(
  'voucher-gateway:repaired-capture',
)

/** Subscribes to a channel. Needed because Node's types do not include the type of the messages. */
export const subscribe = <Message>(channel: Channel<unknown, Message>, listener: (message: Message) => void): void =>
  channel.subscribe(listener as ChannelListener)
