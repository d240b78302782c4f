/** An OpenTelemetry SDK whose exporter writes all spans into the file SPANS_FILE at its shutdown. */
import { writeFileSync } from 'node:fs'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

export class NodeSDK {
  #exporter = new InMemorySpanExporter()

  start() {
    new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#exporter)] }).register()
  }

  async shutdown() {
    const spans = this.#exporter.getFinishedSpans().map(span => ({
      ...{ name: span.name, kind: span.kind, status: span.status.code, attributes: span.attributes },
      ...{
        traceId: span.spanContext().traceId,
        spanId: span.spanContext().spanId,
        parentId: span.parentSpanContext?.spanId,
      },
    }))
    writeFileSync(process.env.SPANS_FILE ?? '', JSON.stringify(spans))
  }
}
