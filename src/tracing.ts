/**
 * Spans of the work of the service, for an OpenTelemetry SDK that the operator has loaded (docs/monitoring.md). Spans
 * contain names and codes, but no values from requests, statements or records. The names of attributes follow
 * OpenTelemetry's semantic conventions.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { TracingChannel } from 'node:diagnostics_channel'
import {
  type Context,
  context,
  INVALID_SPAN_CONTEXT,
  ProxyTracer,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { operationChannel, requestChannel, statementChannel, stepChannel, subscribe } from './channels.ts'
import { safeName, summarizeError } from './log.ts'

/**
 * Makes spans from now on if an SDK is registered. Without an SDK, it subscribes to no channel, so that tracing costs
 * nothing.
 */
export function startTracing(): void {
  const tracer = trace.getTracer('voucher-gateway')
  // The API returns a proxy as long as no provider is registered.
  if (tracer instanceof ProxyTracer) return

  traceChannel(requestChannel, {
    start({ method, route, headers }) {
      const attributes = { 'http.request.method': method, 'http.route': route }
      const caller = propagation.extract(context.active(), headers)
      return tracer.startSpan(route ? `${method} ${route}` : method, { kind: SpanKind.SERVER, attributes }, caller)
    },
    end(span, { status = 0 }) {
      span.setAttribute('http.response.status_code', status)
      if (status >= 500) setSpanError(span, String(status))
    },
  })
  traceChannel(operationChannel, {
    start({ type, name }) {
      const shown = safeName(name)
      const attributes = { 'graphql.operation.type': type, 'graphql.operation.name': shown }
      return tracer.startSpan(shown ? `${type} ${shown}` : type, { attributes })
    },
  })
  traceChannel(statementChannel, {
    start({ name, pool }) {
      // Statements of background jobs have no span, because each of them would begin a trace, several per second.
      if (!trace.getActiveSpan()) return null
      const summary = name ?? undefined
      const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary, 'vgw.pool': pool.name }
      return tracer.startSpan(summary ?? 'postgresql', { kind: SpanKind.CLIENT, attributes })
    },
    end(span, { secondsWaited }) {
      if (secondsWaited !== undefined) span.setAttribute('vgw.pool.wait_seconds', secondsWaited)
    },
  })
  subscribe(stepChannel.asyncEnd, ({ startedAt: startTime, result }) => {
    // A step without keys has no span, because most steps find no keys. Failed steps are in the log.
    if (!result?.keys) return
    tracer.startSpan('step', { startTime, attributes: { 'vgw.step.keys': result.keys } }).end()
  })
}

interface SpanMaker<Work> {
  /** Starts a span in the context of the caller; null when this work has no span. */
  start(work: Work): Span | null
  /**
   * Adds the attributes that are known when the work has ended. An error is always added, even without this function.
   */
  end?(span: Span, work: Work): void
}

function traceChannel<Work extends object>(
  { start, asyncEnd }: TracingChannel<unknown, Work>,
  maker: SpanMaker<Work>,
): void {
  const underWay = new WeakMap<Work, Span>()
  start.bindStore(new ActiveContext(), work => {
    const span = maker.start(work)
    if (!span) return context.active()
    underWay.set(work, span)
    return trace.setSpan(context.active(), span)
  })
  subscribe(asyncEnd, work => {
    const span = underWay.get(work)
    if (!span) return
    if ('error' in work && work.error !== undefined) setSpanError(span, summarizeError(work.error).code)
    maker.end?.(span, work)
    span.end()
  })
}

/** The context of the API as a store of `node:diagnostics_channel`. */
class ActiveContext extends AsyncLocalStorage<Context> {
  override run<Result, Arguments extends unknown[]>(
    active: Context,
    callback: (...args: Arguments) => Result,
    ...args: Arguments
  ): Result {
    return context.with(active, callback, undefined, ...args)
  }
}

function setSpanError(span: Span, type: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', type)
}

/** Returns the fields of a log line that identify its trace; no fields when the trace is not recorded. */
export function traceFields(): { traceId?: string } {
  // The span of a request is no longer active when the log line of the request is written.
  const { traceId, traceFlags } = trace.getActiveSpan()?.spanContext() ?? INVALID_SPAN_CONTEXT
  return traceFlags & TraceFlags.SAMPLED ? { traceId } : {}
}

/**
 * Returns the given headers together with the headers that continue the trace in another service (W3C Trace Context).
 */
export function withTraceparent(headers: HeadersInit | undefined): Headers {
  const traced = new Headers(headers)
  propagation.inject(context.active(), traced, { set: (carrier, name, value) => carrier.set(name, value) })
  return traced
}
